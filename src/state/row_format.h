// How a row of a log is stored: as it is, or narrower at the price of its last bits.
//
// The rounding happens once, when a row is written, and everybody reads the rounded row, the pass that wrote it too. So
// a narrow log is another model than a full one, slightly, and still the same one at every chunking, budget, thread
// count and instruction set. bf16: the upper half of each number, ties to even. int8: for every 64 numbers one fp32
// scale, the largest magnitude / 127; each number is the nearest multiple of it, ties to even. What is not finite stays
// so.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace sluice {

enum class RowFormat : std::uint8_t { fp32, bf16, int8 };

std::string_view row_format_name(RowFormat format);
std::optional<RowFormat> find_row_format(std::string_view name);

// Length of a stored row of `width` numbers, in floats.
int row_words(RowFormat format, int width);
// `row`: row_words of them; `values`: width of them.
void store_row(RowFormat format, std::span<const float> values, float* row);
void load_row(RowFormat format, const float* row, std::span<float> values);

}  // namespace sluice
