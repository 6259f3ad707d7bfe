// See memory_files.h.
#include "support/memory_files.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "io/extent.h"

namespace sluice::test {

int MemoryFiles::add(std::vector<std::byte> bytes) {
  files_.push_back({"file-" + std::to_string(files_.size()), std::move(bytes)});
  return count() - 1;
}

void MemoryFiles::set_faults(Faults faults) {
  const std::scoped_lock lock(mutex_);
  faults_ = faults;
  random_.seed(faults.seed);
}

Result<std::size_t> MemoryFiles::read_some(int file, std::uint64_t offset, std::span<std::byte> to) const {
  ++reads_;
  if (aligned_ && (offset % kDiskPage != 0 || to.size() % kDiskPage != 0 ||
                   reinterpret_cast<std::uintptr_t>(to.data()) % kDiskPage != 0))
    return fail(ErrorKind::io, path(file) + ": a direct read is not aligned");
  const std::vector<std::byte>& from = files_[static_cast<std::size_t>(file)].bytes;
  std::size_t count = offset >= from.size() ? 0 : std::min(to.size(), static_cast<std::size_t>(from.size() - offset));
  std::chrono::microseconds delay{0};
  {
    const std::scoped_lock lock(mutex_);
    std::uniform_real_distribution<double> share(0, 1);
    if (share(random_) < faults_.failing_reads) return fail(ErrorKind::io, path(file) + ": planted failure");
    if (count > 0 && share(random_) < faults_.short_reads)
      count = static_cast<std::size_t>(share(random_) * static_cast<double>(count));
    if (faults_.longest_delay.count() > 0)
      delay = std::chrono::microseconds(random_() % static_cast<std::uint64_t>(faults_.longest_delay.count()));
  }
  if (delay.count() > 0) std::this_thread::sleep_for(delay);
  if (count > 0) std::memcpy(to.data(), from.data() + offset, count);
  return count;
}

std::vector<std::byte> random_bytes(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

}  // namespace sluice::test
