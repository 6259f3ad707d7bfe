// Byte-pair encoding: the one algorithm that turns a piece of text into ids.
//
// A piece starts as single bytes, and the adjacent pair of lowest rank is joined, the leftmost one on ties, until no
// pair can be joined. What may be joined, and what a piece is as a whole, is the vocabulary's business: BpeRules. A
// heap of pairs over a linked list makes that O(n log n): a run of a million equal letters takes a fraction of a
// second, not hours.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace sluice {

// What two neighbours become. Equal bytes of a joined pair are always an equal id.
struct Joined {
  int rank = -1;  // lower ones are joined first; -1: they stay two
  int id = -1;
};

class BpeRules {
 public:
  virtual ~BpeRules() = default;
  // The id of a piece that is not taken apart, or -1.
  virtual int whole(std::string_view piece) const = 0;
  // The id of a single byte. Every byte has one.
  virtual int byte(unsigned char value) const = 0;
  // `both`: the bytes of the two together.
  virtual Joined join(int left, int right, std::string_view both) const = 0;
};

// tiktoken's rules: the number of an entry is its rank and its id, any two neighbours that are an entry together can be
// joined, and a piece that is an entry is that id (Kimi K3, spec section 5.2).
class RankRules final : public BpeRules {
 public:
  // Keeps a reference. Requires: every single byte is an entry.
  explicit RankRules(const Vocabulary& ranks) : ranks_(ranks) {}
  int whole(std::string_view piece) const override { return ranks_.find(piece); }
  int byte(unsigned char value) const override {
    const char letter = static_cast<char>(value);
    return ranks_.find({&letter, 1});
  }
  Joined join(int, int, std::string_view both) const override {
    const int entry = ranks_.find(both);
    return {entry, entry};
  }

 private:
  const Vocabulary& ranks_;
};

class Bpe {
 public:
  // Keeps a reference.
  explicit Bpe(const BpeRules& rules) : rules_(rules) {}

  // Appends the ids of one piece. Requires: piece.size() < 2^31. Not thread-safe: the working lists are kept between
  // calls.
  void encode(std::string_view piece, std::vector<int>& ids);

 private:
  // A part of the piece, at the index of its first byte. A part swallowed by its left neighbour has id -1.
  struct Part {
    int id;          // of the part itself
    int left, next;  // index of the neighbours; -1 before the first, piece.size() behind the last
    Joined joined;   // this part with the next
  };
  // Looks the pair up that begins at `at` and, if it can be joined, notes it in the heap.
  void consider(std::string_view piece, int at);
  void join_next(std::string_view piece, int at);

  const BpeRules& rules_;
  std::vector<Part> parts_;            // [piece bytes]
  std::vector<std::uint64_t> lowest_;  // min-heap of rank << 32 | index of the pair's first part; may be outdated
};

}  // namespace sluice
