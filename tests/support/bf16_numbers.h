// bf16 numbers for tests of compressed tensors: like trained weights, and unlike any.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "formats/bf16_stream.h"

namespace sluice::test {

enum class Numbers { trained, few_escapes, noise, zeros, noisy_end };
inline constexpr Numbers kAllNumbers[] = {Numbers::trained, Numbers::few_escapes, Numbers::noise, Numbers::zeros,
                                          Numbers::noisy_end};

// `count` numbers, two bytes each.
inline std::vector<std::byte> bf16_numbers(std::size_t count, Numbers like, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(2 * count);
  for (std::size_t number = 0; number < count; ++number) {
    std::uint32_t bits = 0;
    if (like == Numbers::trained || like == Numbers::noisy_end) {  // nearly a bell curve: the sum of four even numbers
      float value = -2;
      for (std::uint64_t parts = random(), part = 0; part < 4; ++part, parts >>= 16)
        value += static_cast<float>(parts & 0xffff) / 65536.f;
      value *= 0.03f;
      std::memcpy(&bits, &value, sizeof bits);
    }
    bits >>= 16;
    const auto noise = static_cast<std::uint32_t>(random() & 0xffff);
    if (like == Numbers::few_escapes)
      bits = noise % 1000 == 0 ? noise : (noise & 0x807f) | (120 + noise / 128 % 4) << 7;
    if (like == Numbers::noise || (like == Numbers::noisy_end && number > count / 2)) bits = noise;
    const auto word = static_cast<std::uint16_t>(bits);
    std::memcpy(bytes.data() + 2 * number, &word, sizeof word);
  }
  return bytes;
}

}  // namespace sluice::test
