// See cpu_quota.h. Formats: Linux, Documentation/admin-guide/cgroup-v2.rst (cpu.max: "quota period" or "max period")
// and cgroup-v1 (cpu.cfs_quota_us, -1 for none, and cpu.cfs_period_us).
#include "base/cpu_quota.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>

namespace sluice {

namespace {

// The first 127 bytes of a file, or "" where there is none.
std::string read_start(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), &std::fclose);
  if (!file) return {};
  char text[128];
  return {text, std::fread(text, 1, sizeof text - 1, file.get())};
}

// The number that `text` begins with ("max" and the like: nothing).
std::optional<double> number(std::string_view text) {
  long long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return static_cast<double>(value);
}

std::optional<double> ratio(std::optional<double> quota, std::optional<double> period) {
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return *quota / *period;
}

std::optional<double> quota_v2(const std::string& folder) {
  const std::string text = read_start(folder + "/cpu.max");
  const std::size_t space = text.find(' ');
  if (space == std::string::npos) return std::nullopt;
  return ratio(number(text), number(std::string_view(text).substr(space + 1)));
}

std::optional<double> quota_v1(const std::string& folder) {
  return ratio(number(read_start(folder + "/cpu.cfs_quota_us")), number(read_start(folder + "/cpu.cfs_period_us")));
}

bool lists_cpu(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == "cpu") return true;
    if (comma == std::string_view::npos) break;
    controllers.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace

std::optional<double> cpu_quota(std::string_view groups, const std::string& mount) {
  std::optional<double> least;
  const auto take = [&least](std::optional<double> quota) {
    if (quota) least = least ? std::min(*least, *quota) : *quota;
  };
  while (!groups.empty()) {  // lines of "id:controllers:path"
    const std::string_view line = groups.substr(0, groups.find('\n'));
    groups.remove_prefix(std::min(groups.size(), line.size() + 1));
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool v2 = controllers.empty();
    if (!v2 && !lists_cpu(controllers)) continue;
    std::string path(line.substr(second + 1));
    for (;; path.resize(path.rfind('/'))) {  // the group and every group above it, the root ("") last
      while (!path.empty() && path.back() == '/') path.pop_back();
      if (v2) {
        take(quota_v2(mount + path));
        take(quota_v2(mount + "/unified" + path));
      } else {
        take(quota_v1(mount + "/cpu" + path));
        take(quota_v1(mount + "/cpu,cpuacct" + path));
      }
      if (path.rfind('/') == std::string::npos) break;
    }
  }
  return least;
}

}  // namespace sluice
