// A random number as a pure function of (seed, position, draw): no state, no order of calls.
//
// So speculation, batching and restarts cannot change what a request draws. The function is a 64-bit finalizer in three
// rounds (constants of the SplitMix64 generator, public domain), one for each argument.
#pragma once

#include <cstdint>

namespace sluice {

inline constexpr std::uint64_t kSplitMix64Step = 0x9e3779b97f4a7c15u;

constexpr std::uint64_t mix64(std::uint64_t z) {
  z += kSplitMix64Step;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

constexpr std::uint64_t counter_random(std::uint64_t seed, std::uint64_t position, std::uint64_t draw = 0) {
  return mix64(mix64(mix64(seed) ^ position) ^ draw);
}

// In [0, 1), a multiple of 2^-53.
constexpr double counter_uniform(std::uint64_t seed, std::uint64_t position, std::uint64_t draw = 0) {
  return static_cast<double>(counter_random(seed, position, draw) >> 11) * 0x1p-53;
}

// SplitMix64 itself, for who only wants many numbers that are the same in every run.
struct SplitMix64 {
  std::uint64_t state = 1;
  constexpr std::uint64_t operator()() {
    const std::uint64_t drawn = mix64(state);
    state += kSplitMix64Step;
    return drawn;
  }
};

}  // namespace sluice
