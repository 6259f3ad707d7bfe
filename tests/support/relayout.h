// Copies a safetensors checkpoint into a layout that no release has: one file, tensors in pseudo-random order (the
// tensors of an expert are not neighbours), holes of odd sizes between them, so that nothing is aligned to anything.
// The same weights must give the same answers from it: that tests every fallback of the reader.
#pragma once

#include <cstdint>
#include <filesystem>

namespace sluice::test {

// `to` is made; other files of `from` (config, tokenizer) are copied, its index is not.
void relayout(const std::filesystem::path& from, const std::filesystem::path& to, std::uint64_t seed);

}  // namespace sluice::test
