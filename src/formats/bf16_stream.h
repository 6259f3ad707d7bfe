// bf16 numbers in about 0.70 of their bytes, exactly: how a compressed matrix is stored, made and read.
//
// Trained weights have few exponents: seven cover about 97 numbers of 100, while sign and fraction are noise. So a
// number is its exponent (8 bits) and its rest (sign in bit 7, fraction below). The rest is stored as it is. A code of
// three bits names one of seven exponents of the matrix; code 7 says that the exponent stands in a list of escapes.
//
// A stream, little-endian, of a matrix [rows, cols] cut into chunks of kChunkNumbers, without regard to rows:
//   head, 64 bytes: "SLUICEB3", version (u32) 1, rows (u32), cols (u32), the seven exponents, rising; zeros
//   table: of each chunk the number of its escapes (u16), kPlainChunk if it is stored as plain bf16; zeros up to a
//          multiple of 64
//   chunks: groups of 512 numbers, the last one of the matrix filled up with code 0 and rest 0; then the escapes, a
//           byte each, in the order of their numbers; zeros up to a multiple of 64. A chunk that gains nothing is
//           plain.
//   group, 704 bytes: for each 64 numbers three planes of 64 bits, bit i of plane p being bit p of the code of number
//           i; then the 512 rests
// So chunks can be read side by side, and none is larger than its numbers: see residency/unpack_block.h.
// Pure functions; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/weight_view.h"

namespace sluice {

inline constexpr std::uint64_t kStreamHeadBytes = 64;
inline constexpr int kChunkNumbers = 16384;
inline constexpr std::uint16_t kPlainChunk = 0xffff;
inline constexpr int kGroupNumbers = 512, kGroupBytes = 704;

using Exponents = std::array<std::uint8_t, 8>;          // seven, and a zero
using ExponentCounts = std::array<std::uint16_t, 256>;  // of the numbers of a chunk
using Bf16Numbers = std::span<const std::byte>;         // two bytes each, any alignment
ExponentCounts count_exponents(Bf16Numbers numbers);    // of one chunk

struct Bf16Chunk {
  std::uint64_t begin = 0;  // in the stream
  std::uint32_t bytes = 0;
  std::uint16_t numbers = 0, escapes = 0;  // escapes: kPlainChunk: plain

  bool is_plain() const { return escapes == kPlainChunk; }
  // Of its groups, behind which the escapes stand. Requires: it is not plain.
  std::uint32_t group_bytes() const { return group_bytes_of(numbers); }
  static std::uint32_t group_bytes_of(unsigned numbers) {
    return (numbers + kGroupNumbers - 1) / kGroupNumbers * kGroupBytes;
  }
};

// Where everything of a stream lies: all of it but the numbers.
class Bf16Stream {
 public:
  // The best stream for a matrix of which each chunk was counted, in order. Equal counts give equal streams.
  static Bf16Stream of(Shape shape, std::span<const ExponentCounts> chunks);
  // From the beginning of a stream, head and table at least, that shall hold `shape` in `bytes`. Otherwise a sentence
  // without subject that says what is wrong.
  static std::optional<std::string> read(Bf16Numbers begin, Shape shape, std::uint64_t bytes, Bf16Stream& into);

  // What the first kStreamHeadBytes say of the shape, true or not.
  static Shape claimed_shape(Bf16Numbers head);

  // Bytes of head and table, for a matrix of so many numbers.
  static std::uint64_t front_bytes(std::uint64_t numbers);
  std::vector<std::byte> front() const;

  Shape shape() const { return shape_; }
  std::uint64_t bytes() const { return bytes_; }
  const Exponents& exponents() const { return exponents_; }
  std::size_t chunks() const { return table_.size(); }
  Bf16Chunk chunk(std::size_t number) const { return table_[number]; }
  std::uint64_t numbers() const;

 private:
  void place_chunks();

  Shape shape_;
  Exponents exponents_{};
  std::vector<Bf16Chunk> table_;
  std::uint64_t bytes_ = 0;
};

// Stores a chunk: `to` has chunk.bytes. False if these are not the numbers that were counted.
bool encode_chunk(const Exponents& exponents, const Bf16Chunk& chunk, Bf16Numbers numbers, std::span<std::byte> to);
// The stream of a matrix that is at hand whole.
std::vector<std::byte> encode_matrix(Shape shape, Bf16Numbers numbers);
// What a chunk means, plainly; the kernels equal it. `to` has 2 * chunk.numbers bytes. False if it is not what
// encode_chunk makes: as many escapes as the table says, none of them among the exponents, zeros where nothing is.
bool decode_chunk(const Exponents& exponents, const Bf16Chunk& chunk, std::span<const std::byte> from,
                  std::span<std::byte> to);

}  // namespace sluice
