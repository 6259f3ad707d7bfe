// Finds the spellings of added tokens in a text: the leftmost one, and of those that begin there the longest.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace sluice {

class SpellingFinder {
 public:
  struct Found {
    std::size_t begin = std::string_view::npos, end = std::string_view::npos;  // npos: none
    int id = -1;
  };

  // False if the spelling is empty or there already.
  bool add(std::string_view spelling, int id);
  bool empty() const { return ids_.empty(); }
  // The first spelling at or after `from`. A text's spellings are found in time proportional to the text.
  Found find(std::string_view text, std::size_t from) const;
  // The id of a spelling, or -1.
  int id_of(std::string_view spelling) const;
  std::uint64_t resident_bytes() const;

 private:
  Vocabulary spellings_;
  std::vector<int> ids_;                               // by their numbers
  std::string starts_;                                 // the bytes that spellings begin with, each once
  std::array<std::vector<std::size_t>, 256> lengths_;  // by first byte: the lengths there are, each once, falling
};

}  // namespace sluice
