// A set of byte strings numbered 0, 1, 2, ... in the order they were added, found by content.
//
// Made for 160,000 short entries that stay in memory beside a plan that counts bytes: all strings lie in one run, and
// the table is an array of 32-bit slots (open addressing, at most 5/8 full), 17 bytes an entry with its 7 of text. A
// std::unordered_map<std::string, int> takes about five times that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

class Vocabulary {
 public:
  static constexpr int kMaxEntries = (1 << 24) - 2;

  // Gives `bytes` the next number. False, and nothing is changed, if they are empty, known already, or one too many.
  bool add(std::string_view bytes);
  // Gives back memory that growing left over.
  void shrink();

  // The number of `bytes`, or -1.
  int find(std::string_view bytes) const;
  // Requires: 0 <= number < size(). Valid while nothing is added.
  std::string_view bytes(int number) const;
  int size() const { return static_cast<int>(begins_.size()) - 1; }
  std::size_t longest() const { return longest_; }  // bytes of the longest entry
  std::uint64_t resident_bytes() const;

 private:
  std::size_t slot_of(std::string_view bytes, std::uint64_t hash) const;
  void grow();

  std::string text_;                           // all entries, one after another
  std::vector<std::uint32_t> begins_{0};       // [size + 1] entry n is text_[begins_[n], begins_[n + 1])
  std::vector<std::uint32_t> slots_ = {0, 0};  // a power of two of them: 0 empty, else 8 hash bits and number + 1
  std::size_t longest_ = 0;
};

}  // namespace sluice
