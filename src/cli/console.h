// What the program says besides its result: progress, warnings and reports go to standard error, results to standard
// output.
//
// On a terminal progress is one line that rewrites itself with an ETA; otherwise it is a plain line every few seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/cancel.h"
#include "base/result.h"

namespace sluice::cli {

enum class Verbosity { quiet, normal, verbose };
// Set once by main from --quiet and --verbose.
void set_verbosity(Verbosity verbosity);
Verbosity verbosity();

void note(std::string_view line);    // normal and verbose
void detail(std::string_view line);  // verbose only
void warn(std::string_view line);    // always

class Progress {
 public:
  enum class Unit { bytes, tokens };
  // "reading: 12 % of 3.00 GiB, 1.21 GiB/s, 41 s left". total 0: unknown.
  Progress(std::string what, std::uint64_t total, Unit unit = Unit::bytes);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void at(std::uint64_t done);
  void finish();  // leaves a clean line; nothing is shown after it

 private:
  std::string what_;
  std::uint64_t total_;
  Unit unit_;
  std::chrono::steady_clock::time_point begin_, last_;
  bool shown_ = false, finished_ = false;
};

// Writes pretty JSON to a file, or to standard output for "-".
Result<> write_json(const std::string& path, const nlohmann::json& value);

// Requested by Ctrl-C (SIGINT) and SIGTERM; a second Ctrl-C ends the process at once.
CancelFlag& interrupt_flag();
// SIGTERM came: what goes on after a Ctrl-C ends too.
bool termination_requested();
void install_interrupt_handler();

}  // namespace sluice::cli
