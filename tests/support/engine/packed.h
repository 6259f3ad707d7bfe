// `sluice pack` as a call, for tests that look at what it writes.
#pragma once

#include <cstdint>
#include <filesystem>

namespace sluice::test {

// Throws the error's sentence if it fails.
void pack_checkpoint(const std::filesystem::path& from, const std::filesystem::path& to, std::uint64_t shard_bytes);

}  // namespace sluice::test
