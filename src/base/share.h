// What part of a whole something is.
#pragma once

#include <cstdint>

namespace sluice {

// Of nothing, 0.
inline double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace sluice
