// Numbers of things as people write them: "1 layer", "43 layers", "497,220 tensors".
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

// `noun`: the singular; its plural takes an s.
std::string counted(std::uint64_t count, std::string_view noun);

// Requires: not negative.
template <std::signed_integral Number>
std::string counted(Number count, std::string_view noun) {
  return counted(static_cast<std::uint64_t>(count), noun);
}

}  // namespace sluice
