// See prompt_lookup.h.
#include "generate/prompt_lookup.h"

#include <cstddef>

namespace sluice {

namespace {
constexpr std::size_t kLongest = 6;  // a longer match says nothing more
}

std::vector<int> look_up(std::span<const int> text, int shortest, int most) {
  const std::size_t size = text.size();
  std::size_t longest = 0, found = 0;  // found: the place behind the match
  for (std::size_t end = size; end-- > 1 && longest < kLongest;) {
    std::size_t equal = 0;
    while (equal < kLongest && equal < end && text[end - 1 - equal] == text[size - 1 - equal]) ++equal;
    if (equal <= longest) continue;
    longest = equal;
    found = end;
  }
  std::vector<int> drafts;
  if (longest < static_cast<std::size_t>(shortest)) return drafts;
  for (std::size_t place = found; drafts.size() < static_cast<std::size_t>(most); ++place)
    drafts.push_back(place < size ? text[place] : drafts[place - size]);
  return drafts;
}

}  // namespace sluice
