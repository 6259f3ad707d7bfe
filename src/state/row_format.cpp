// See row_format.h.
#include "state/row_format.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/numbers.h"

namespace sluice {

namespace {

constexpr int kGroup = 64;       // numbers that share a scale
constexpr float kLargest = 127;  // of a stored number
constexpr std::string_view kNames[] = {"fp32", "bf16", "int8"};

int groups_of(int width) { return (width + kGroup - 1) / kGroup; }

// An int8 row: scales of the groups, then the numbers.
float scale_of(std::span<const float> values) {
  float largest = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) return value;  // makes the whole group of its kind, and logits are checked
    largest = std::max(largest, std::abs(value));
  }
  return largest / kLargest;
}

void store_int8(std::span<const float> values, float* row) {
  const int groups = groups_of(static_cast<int>(values.size()));
  auto* numbers = reinterpret_cast<std::int8_t*>(row + groups);
  for (int group = 0; group < groups; ++group) {
    const auto first = static_cast<std::size_t>(group) * kGroup;
    const std::span<const float> part = values.subspan(first, std::min<std::size_t>(kGroup, values.size() - first));
    const float scale = row[group] = scale_of(part);
    for (const float value : part) {
      // A scale may be subnormal, and rounded down: then the quotient is a little beyond the largest.
      const float number = std::isfinite(scale) && scale > 0 ? std::nearbyint(value / scale) : 1;
      *numbers++ = static_cast<std::int8_t>(std::clamp(number, -kLargest, kLargest));
    }
  }
}

void load_int8(const float* row, std::span<float> values) {
  const int groups = groups_of(static_cast<int>(values.size()));
  const auto* numbers = reinterpret_cast<const std::int8_t*>(row + groups);
  for (int group = 0; group < groups; ++group) {
    const float scale = row[group];
    const std::size_t first = static_cast<std::size_t>(group) * kGroup;
    const std::size_t count = std::min<std::size_t>(kGroup, values.size() - first);
    float* const to = values.data() + first;
    for (std::size_t place = 0; place < count; ++place) to[place] = static_cast<float>(numbers[first + place]) * scale;
  }
}

}  // namespace

std::string_view row_format_name(RowFormat format) { return kNames[static_cast<std::size_t>(format)]; }

std::optional<RowFormat> find_row_format(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<RowFormat>(found - std::begin(kNames));
}

int row_words(RowFormat format, int width) {
  if (format == RowFormat::bf16) return (width + 1) / 2;
  if (format == RowFormat::int8) return groups_of(width) + (width + 3) / 4;
  return width;
}

void store_row(RowFormat format, std::span<const float> values, float* row) {
  if (format == RowFormat::int8) return store_int8(values, row);
  if (format == RowFormat::fp32) {
    std::ranges::copy(values, row);
    return;
  }
  auto* words = reinterpret_cast<std::uint16_t*>(row);
  for (const float value : values) *words++ = f32_to_bf16(value);
}

void load_row(RowFormat format, const float* row, std::span<float> values) {
  if (format == RowFormat::int8) return load_int8(row, values);
  if (format == RowFormat::fp32) {
    std::copy_n(row, values.size(), values.begin());
    return;
  }
  const auto* words = reinterpret_cast<const std::uint16_t*>(row);
  for (std::size_t place = 0; place < values.size(); ++place) values[place] = bf16_to_f32(words[place]);
}

}  // namespace sluice
