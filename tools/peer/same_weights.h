// The same matrices for sluice and for ggml: random numbers in a format of sluice, and the blocks of ggml that hold the
// same numbers; and what every way to multiply with them offers.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <ggml.h>
#include "base/counter_random.h"
#include "base/numbers.h"
#include "formats/format.h"
#include "io/aligned.h"

namespace peer {

using namespace sluice;

constexpr std::uint64_t kWeightBytes = 768ull << 20;  // together: larger than every cache

struct Pair {
  FormatId ours;
  ggml_type theirs;
  int outs, cols;
  bool same_numbers;
};

// Matrices of one pair, as sluice stores them: as many as fit, larger together than every cache.
class Weights {
 public:
  explicit Weights(const Pair& pair)
      : pair_(pair),
        format_(format(pair.ours)),
        size_{pair.outs, pair.cols},
        count_(static_cast<int>(kWeightBytes / (format_.weight_bytes(size_) + format_.scale_bytes(size_)))),
        weights_(static_cast<std::uint64_t>(count_) * format_.weight_bytes(size_)),
        scales_(std::max<std::uint64_t>(static_cast<std::uint64_t>(count_) * format_.scale_bytes(size_), 1)) {
    ::madvise(weights_.data(), weights_.size(), MADV_HUGEPAGE);
    SplitMix64 random;
    auto* const words = reinterpret_cast<std::uint64_t*>(weights_.data());
    const bool floats = format_.scales == ScaleKind::none, bytes = pair.ours == FormatId::int8;
    for (std::uint64_t i = 0; i < weights_.size() / 8; ++i) {
      // Floats: either sign, 2^-8 to 2^-1 as bf16 and f32, 1 to 2 as f16. int8: no -128, which no quantiser makes.
      const std::uint64_t word = random();
      words[i] = floats  ? (word & 0x83f783f783f783f7u) | 0x3c003c003c003c00u
                 : bytes ? word | 0x0101010101010101u
                         : word;
    }
    std::byte* const scales = scales_.data();
    if (format_.scales == ScaleKind::e8m0)
      for (std::uint64_t i = 0; i < scales_.size(); ++i) scales[i] = static_cast<std::byte>(118 + random() % 8);
    if (format_.scales == ScaleKind::f32)  // 2^-10 to 2^-9, as an f16 holds them
      for (std::uint64_t i = 0; i + 4 <= scales_.size(); i += 4)
        store_f32(scales + i, 0x1p-10f + static_cast<float>(random() % 1024) * 0x1p-20f);
  }
  int count() const { return count_; }
  std::uint64_t bytes_of_one() const { return format_.weight_bytes(size_) + format_.scale_bytes(size_); }
  std::span<std::byte> memory() { return weights_.slice(0, weights_.size()); }
  WeightView operator[](int index) const {
    const auto at = static_cast<std::uint64_t>(index);
    return {pair_.ours, size_, weights_.data() + at * format_.weight_bytes(size_),
            format_.scales != ScaleKind::none ? scales_.data() + at * format_.scale_bytes(size_) : nullptr};
  }

 private:
  const Pair& pair_;
  const Format& format_;
  Shape size_;
  int count_;
  PageArena weights_, scales_;
};

// The same matrix in ggml's blocks of 32 columns: a scale, then the numbers; nibbles of columns j and j + 16 share a
// byte. Source: the structures block_q8_0, block_q4_0 and block_mxfp4 of ggml-common.h.
inline std::vector<std::uint8_t> as_blocks(const Pair& pair, const WeightView& w, SplitMix64& random) {
  std::vector<std::uint8_t> blocks(ggml_row_size(pair.theirs, pair.cols) * static_cast<std::size_t>(pair.outs));
  if (pair.theirs == GGML_TYPE_Q4_K) {  // [f16 scale, f16 least, 12 bytes of scales, 128 of nibbles], 256 columns
    for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<std::uint8_t>(random());
    for (std::size_t i = 0; i < blocks.size(); i += 144)
      for (int half : {0, 2}) {
        const std::uint16_t scale = f32_to_f16(0x1p-15f * static_cast<float>(1 + random() % 15));
        std::memcpy(blocks.data() + i + half, &scale, 2);
      }
    return blocks;
  }
  const auto* stored = reinterpret_cast<const std::uint8_t*>(w.weights);
  const auto nibble = [&](std::size_t number) { return stored[number / 2] >> (number % 2 * 4) & 15; };
  const std::size_t cols = static_cast<std::size_t>(pair.cols), groups = blocks.size() / ggml_type_size(pair.theirs);
  std::uint8_t* to = blocks.data();
  for (std::size_t group = 0; group < groups; ++group) {
    const std::size_t first = group * 32, row = first / cols;
    if (pair.theirs == GGML_TYPE_MXFP4) {
      *to++ = std::to_integer<std::uint8_t>(w.scales[group]);
    } else {
      const std::size_t scale = pair.theirs == GGML_TYPE_Q8_0 ? row : group / 2;
      const std::uint16_t narrow = f32_to_f16(load_f32(w.scales + 4 * scale));
      std::memcpy(to, &narrow, 2);
      to += 2;
    }
    if (pair.theirs == GGML_TYPE_Q8_0) {
      std::memcpy(to, stored + first, 32);
      to += 32;
    } else {
      for (std::size_t j = 0; j < 16; ++j)
        *to++ = static_cast<std::uint8_t>(nibble(first + j) | nibble(first + j + 16) << 4);
    }
  }
  return blocks;
}

// One way to multiply. Results are y [rows, outs].
class Contender {
 public:
  virtual ~Contender() = default;
  virtual void multiply(int first, int count) = 0;  // matrices [first, first + count), around the end
  virtual std::span<const float> result() = 0;      // of the last one
  std::string name;
  std::uint64_t bytes_of_one = 0;
};

}  // namespace peer
