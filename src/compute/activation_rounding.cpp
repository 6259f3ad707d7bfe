// See activation_rounding.h.
#include "compute/activation_rounding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/check.h"
#include "base/numbers.h"

namespace sluice {

namespace {

constexpr float kE2m1Largest = 6.f;

// The least power of two that is not below a normal number; NaN for what is no finite one.
float power_above(float value) {
  if (!std::isfinite(value)) return std::numeric_limits<float>::quiet_NaN();
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value), mantissa = (1u << 23) - 1;
  return std::bit_cast<float>((bits & ~mantissa) + ((bits & mantissa) != 0 ? 1u << 23 : 0u));
}

float largest_of(std::span<const float> values, float least) {
  float largest = least;
  for (const float value : values) {
    const float size = std::fabs(value);
    if (size > largest || size != size) largest = size;  // NaN stays
  }
  return largest;
}

// Every run of `block` numbers: rounded(x / s) · s, with s as the header says.
template <class Rounded>
void round_blocks(Rows x, int block, float least, float format_largest, Rounded rounded) {
  for (int row = 0; row < x.rows; ++row)
    for (int first = 0; first < x.width; first += block) {
      const int count = std::min(block, x.width - first);
      const std::span<float> run = x[row].subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
      const float scale = power_above(largest_of(run, least) / format_largest);
      for (float& value : run) value = rounded(value / scale) * scale;
    }
}

// One butterfly after another; the numbers of a pair are `apart`.
void transform(std::span<float> x) {
  for (std::size_t apart = 1; apart < x.size(); apart *= 2)
    for (std::size_t first = 0; first < x.size(); first += 2 * apart)
      for (std::size_t at = first; at < first + apart; ++at) {
        const float a = x[at], b = x[at + apart];
        x[at] = a + b;
        x[at + apart] = a - b;
      }
}

template <class Work>
void each_run(Rows x, int width, Work work) {
  SLUICE_DCHECK(x.width % width == 0);
  for (int row = 0; row < x.rows; ++row)
    for (int first = 0; first < x.width; first += width) work(x.columns(first, width)[row]);
}

}  // namespace

void round_to_bf16(Rows x) {
  for (int row = 0; row < x.rows; ++row)
    for (float& value : x[row]) value = rounded_to_bf16(value);
}

void round_to_fp8(Rows x, int block) {
  round_blocks(x, block, 1e-4f, kE4m3Largest, [](float value) { return e4m3_to_f32(f32_to_e4m3(value)); });
}

// E2M1 has no NaN.
void round_to_fp4(Rows x, int block) {
  round_blocks(x, block, kE2m1Largest * 0x1p-126f, kE2m1Largest,
               [](float value) { return value == value ? e2m1_to_f32(f32_to_e2m1(value)) : value; });
}

void hadamard(Rows x, int width) {
  SLUICE_DCHECK(std::has_single_bit(static_cast<unsigned>(width)));
  const float factor = 1.0f / std::sqrt(static_cast<float>(width));
  each_run(x, width, [&](std::span<float> run) {
    transform(run);
    for (float& value : run) value = value * factor;
  });
}

void rms_norm_in_bf16(Rows x, int width, float eps) {
  each_run(x, width, [&](std::span<float> run) {
    float sum = 0;
    for (const float value : run) sum = sum + rounded_to_bf16(value * value);
    const float mean = rounded_to_bf16(sum / static_cast<float>(width));
    const float factor = rounded_to_bf16(1.0f / std::sqrt(rounded_to_bf16(mean + eps)));
    for (float& value : run) value = rounded_to_bf16(value * factor);
  });
}

}  // namespace sluice
