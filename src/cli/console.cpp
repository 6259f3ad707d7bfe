// See console.h.
#include "cli/console.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/units.h"

namespace sluice::cli {

namespace {

Verbosity current = Verbosity::normal;

void line_to_stderr(std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fputc('\n', stderr);
}

bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

CancelFlag termination;

extern "C" void on_interrupt(int signal) {
  if (signal == SIGTERM) termination.request();
  if (interrupt_flag().requested()) ::_exit(128 + signal);
  interrupt_flag().request();
}

}  // namespace

void set_verbosity(Verbosity verbosity) { current = verbosity; }
Verbosity verbosity() { return current; }
void note(std::string_view line) {
  if (current != Verbosity::quiet) line_to_stderr(line);
}
void detail(std::string_view line) {
  if (current == Verbosity::verbose) line_to_stderr(line);
}
void warn(std::string_view line) { line_to_stderr(fmt::format("sluice: warning: {}", line)); }

Progress::Progress(std::string what, std::uint64_t total, Unit unit)
    : what_(std::move(what)), total_(total), unit_(unit), begin_(std::chrono::steady_clock::now()), last_(begin_) {}

Progress::~Progress() { finish(); }

void Progress::finish() {
  if (shown_ && !finished_ && stderr_is_terminal()) std::fputs("\r\x1b[K", stderr);
  finished_ = true;
}

void Progress::at(std::uint64_t done) {
  if (current == Verbosity::quiet || finished_) return;
  const auto now = std::chrono::steady_clock::now();
  const bool terminal = stderr_is_terminal();
  if (now - last_ < (terminal ? std::chrono::milliseconds(200) : std::chrono::milliseconds(5000))) return;
  last_ = now;
  const double rate = static_cast<double>(done) / std::chrono::duration<double>(now - begin_).count();
  const auto amount = [&](std::uint64_t count) {
    return unit_ == Unit::bytes ? format_bytes(count) : format_count(count) + " tokens";
  };
  const std::string speed = unit_ == Unit::bytes ? format_rate(rate) : fmt::format("{:.1f} tokens/s", rate);
  std::string line = fmt::format("{}: {}, {}", what_, amount(done), speed);
  if (total_ > 0 && done > 0)
    line = fmt::format("{}: {:.0f} % of {}, {}, {} left", what_,
                       100.0 * static_cast<double>(done) / static_cast<double>(total_), amount(total_), speed,
                       format_seconds(static_cast<double>(total_ - done) / rate));
  if (terminal)
    std::fprintf(stderr, "\r\x1b[K%s", line.c_str());
  else
    line_to_stderr(line);
  shown_ = true;
}

Result<> write_json(const std::string& path, const nlohmann::json& value) {
  const std::string text = value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  std::FILE* const file = path == "-" ? stdout : std::fopen(path.c_str(), "w");
  if (file == nullptr)
    return fail(ErrorKind::bad_input, fmt::format("cannot write {}: {}", path, std::strerror(errno)),
                "check that the folder exists and may be written");
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = file == stdout ? std::fflush(file) == 0 : std::fclose(file) == 0;
  if (!written || !closed)
    return fail(ErrorKind::bad_input, fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  return {};
}

CancelFlag& interrupt_flag() {
  static CancelFlag flag;
  return flag;
}

bool termination_requested() { return termination.requested(); }

void install_interrupt_handler() {
  interrupt_flag();  // made before a signal can come
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

}  // namespace sluice::cli
