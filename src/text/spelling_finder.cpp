// See spelling_finder.h.
#include "text/spelling_finder.h"

#include <algorithm>
#include <functional>

namespace sluice {

bool SpellingFinder::add(std::string_view spelling, int id) {
  if (!spellings_.add(spelling)) return false;
  ids_.push_back(id);
  std::vector<std::size_t>& lengths = lengths_[static_cast<unsigned char>(spelling.front())];
  if (lengths.empty()) starts_ += spelling.front();
  const auto place = std::ranges::lower_bound(lengths, spelling.size(), std::greater<>());
  if (place == lengths.end() || *place != spelling.size()) lengths.insert(place, spelling.size());
  return true;
}

SpellingFinder::Found SpellingFinder::find(std::string_view text, std::size_t from) const {
  for (std::size_t begin = from; (begin = text.find_first_of(starts_, begin)) != std::string_view::npos; ++begin)
    for (const std::size_t length : lengths_[static_cast<unsigned char>(text[begin])]) {
      if (length > text.size() - begin) continue;
      const int number = spellings_.find(text.substr(begin, length));
      if (number >= 0) return {begin, begin + length, ids_[static_cast<std::size_t>(number)]};
    }
  return {};
}

int SpellingFinder::id_of(std::string_view spelling) const {
  const int number = spellings_.find(spelling);
  return number < 0 ? -1 : ids_[static_cast<std::size_t>(number)];
}

std::uint64_t SpellingFinder::resident_bytes() const {
  std::uint64_t bytes = sizeof *this + spellings_.resident_bytes() + ids_.capacity() * sizeof(int);
  for (const auto& lengths : lengths_) bytes += lengths.capacity() * sizeof(std::size_t);
  return bytes;
}

}  // namespace sluice
