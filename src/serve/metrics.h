// What the server counts, and Prometheus' text of it. Used by the network's thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "engine/engine_thread.h"
#include "serve/reply_writer.h"

namespace sluice::serve {

class Histogram {
 public:
  void add(double seconds);
  // Appends the series `name`.
  void add_to(const std::string& name, const std::string& help, std::string& text) const;

 private:
  static constexpr std::array kBounds = {0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5,  1.,
                                         2.5,   5.,    10.,  30.,  60., 300., 1800.};
  std::array<std::uint64_t, kBounds.size() + 1> counts_ = {};
  double sum_ = 0;
};

class Metrics {
 public:
  void answered(const std::string& endpoint, int status) { ++requests_[{endpoint, status}]; }
  // A token was made, so many seconds after the one before it or, the first one, after the request came.
  void token(double seconds, bool first) { (first ? first_token_ : next_token_).add(seconds); }
  // A request that generates is over.
  void generation(int status, const Usage& usage, double seconds);

  std::string text(const EngineLoad& load, std::uint64_t resident_bytes) const;

 private:
  std::map<std::pair<std::string, int>, std::uint64_t> requests_;
  std::map<int, std::uint64_t> generations_;
  std::uint64_t prompt_tokens_ = 0, generated_tokens_ = 0, forced_tokens_ = 0;
  Histogram first_token_, next_token_, duration_;
};

}  // namespace sluice::serve
