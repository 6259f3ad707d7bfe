// See dtype.h.
#include "checkpoint/dtype.h"

#include <iterator>

namespace sluice {

namespace {

struct Row {
  std::string_view name;
  unsigned bits;
};
// Indexed by Dtype; the frequent ones first, since a name is looked up for each of half a million tensors.
constexpr Row kRows[] = {
    {"U8", 8},   {"BF16", 16}, {"F32", 32}, {"F16", 16}, {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"F8_E8M0", 8},
    {"I8", 8},   {"BOOL", 8},  {"I16", 16}, {"U16", 16}, {"I32", 32},    {"U32", 32},    {"F64", 64},
    {"I64", 64}, {"U64", 64},  {"C64", 64}, {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6},
};
static_assert(std::size(kRows) == static_cast<std::size_t>(Dtype::f6_e3m2) + 1);

const Row& row(Dtype dtype) { return kRows[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::optional<Dtype> parse_dtype(std::string_view name) {
  for (std::size_t index = 0; index < std::size(kRows); ++index)
    if (kRows[index].name == name) return static_cast<Dtype>(index);
  return std::nullopt;
}

std::string_view dtype_name(Dtype dtype) { return row(dtype).name; }
unsigned dtype_bits(Dtype dtype) { return row(dtype).bits; }

}  // namespace sluice
