// Tensors that mean nothing: they stand before an expert so that it begins on a disk page, since the safetensors format
// allows no holes. Readers pass over them.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "checkpoint/safetensors_writer.h"

namespace sluice {

inline constexpr std::string_view kPaddingPrefix = "sluice.padding.";

inline bool is_padding(std::string_view name) { return name.starts_with(kPaddingPrefix); }
inline StoredTensor padding_tensor(std::size_t number, std::uint64_t bytes) {
  return {fmt::format("{}{}", kPaddingPrefix, number), Dtype::u8, {bytes}};
}

}  // namespace sluice
