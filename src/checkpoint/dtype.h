// The element types that safetensors headers name, and how many bits each takes.
//
// A header may hold any of them (vision parts, other families); which ones sluice can compute with is a question for
// formats/, answered when a family's wishes are bound to a checkpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {

enum class Dtype : std::uint8_t {
  u8,
  bf16,
  f32,
  f16,
  f8_e4m3,
  f8_e5m2,
  f8_e8m0,
  i8,
  boolean,
  i16,
  u16,
  i32,
  u32,
  f64,
  i64,
  u64,
  c64,
  f4,
  f6_e2m3,
  f6_e3m2,
};

std::optional<Dtype> parse_dtype(std::string_view name);  // as the header spells it: "BF16"
std::string_view dtype_name(Dtype dtype);
unsigned dtype_bits(Dtype dtype);

}  // namespace sluice
