// `sluice pack` as a call, for tests that look at what it writes.
#pragma once

#include <cstdint>
#include <filesystem>

namespace sluice::test {

// Throws the error's sentence if it fails.
void pack_checkpoint(const std::filesystem::path& from, const std::filesystem::path& to, std::uint64_t shard_bytes);
// With --compress. Returns how many bytes of the trunk became how many.
struct Compressed {
  std::uint64_t before = 0, after = 0;
};
Compressed compress_checkpoint(const std::filesystem::path& from, const std::filesystem::path& to,
                               std::uint64_t shard_bytes);

}  // namespace sluice::test
