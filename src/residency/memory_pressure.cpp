// See memory_pressure.h. Source: Linux, Documentation/accounting/psi.rst ("some avg10=0.00 avg60=0.00 avg300=0.00
// total=0", the total in microseconds; memory.pressure of a group has the same form).
#include "residency/memory_pressure.h"

#include <algorithm>
#include <string_view>

#include "base/text_file.h"
#include "residency/kernel_text.h"

namespace sluice {

namespace {

std::optional<std::uint64_t> stalled_of(const std::string& path) {
  const std::string text = read_text_file(path).value_or("");
  constexpr std::string_view kTotal = "total=";
  const std::size_t line = text.find("some "), total = text.find(kTotal, std::min(line, text.size()));
  if (line == std::string::npos || total == std::string::npos) return std::nullopt;
  return leading_number(std::string_view(text).substr(total + kTotal.size()));
}

}  // namespace

PressureGauge::PressureGauge(const MemoryFolders& folders) {
  const auto add = [&](const std::string& path) {
    if (const auto stalled = stalled_of(path)) sources_.push_back({path, *stalled});
  };
  add(folders.proc + "/pressure/memory");
  for (const ControlGroup& group : control_groups(read_text_file(folders.proc + "/self/cgroup").value_or(""))) {
    if (group.version != 2) continue;
    add(folders.cgroups + group.path + "/memory.pressure");
    add(folders.cgroups + "/unified" + group.path + "/memory.pressure");
  }
}

double PressureGauge::stalled_share(Clock::time_point now) {
  if (sources_.empty()) return 0;
  if (window_began_ && now - *window_began_ < kWindow) return share_;
  const double window =
      window_began_ ? std::chrono::duration<double, std::micro>(now - *window_began_).count() : 0;  // microseconds
  double share = 0;
  for (Source& source : sources_) {
    const std::uint64_t stalled = stalled_of(source.path).value_or(source.stalled_microseconds);
    if (window > 0 && stalled > source.stalled_microseconds)
      share = std::max(share, static_cast<double>(stalled - source.stalled_microseconds) / window);
    source.stalled_microseconds = stalled;
  }
  window_began_ = now;
  share_ = std::min(share, 1.0);
  return share_;
}

}  // namespace sluice
