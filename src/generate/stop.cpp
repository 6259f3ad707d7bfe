// See stop.h.
#include "generate/stop.h"

#include <algorithm>
#include <utility>

namespace sluice {

namespace {

// The length of the longest end of `text` that begins `stop`, shorter than `stop`.
std::size_t unfinished(std::string_view text, std::string_view stop) {
  for (std::size_t length = std::min(text.size(), stop.size() - 1); length > 0; --length)
    if (stop.starts_with(text.substr(text.size() - length))) return length;
  return 0;
}

}  // namespace

StopStrings::StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
}

std::string StopStrings::push(std::string_view text) {
  if (met_) return {};
  held_ += text;
  // The one that is complete first counts, and of those the longest: that does not depend on how the text was cut.
  std::size_t begin = std::string::npos, end = std::string::npos, keep = 0;
  for (const std::string& stop : stops_) {
    keep = std::max(keep, unfinished(held_, stop));
    const std::size_t found = held_.find(stop);
    if (found == std::string::npos || found + stop.size() > end) continue;
    begin = found + stop.size() < end ? found : std::min(begin, found);
    end = found + stop.size();
    which_ = held_.substr(begin, end - begin);
  }
  met_ = begin != std::string::npos;
  const std::size_t shown = met_ ? begin : held_.size() - keep;
  std::string certain = held_.substr(0, shown);
  held_.erase(0, met_ ? held_.size() : shown);
  return certain;
}

std::string StopStrings::finish() { return std::exchange(held_, {}); }

}  // namespace sluice
