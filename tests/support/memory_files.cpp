// See memory_files.h.
#include "support/memory_files.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <utility>

#include "io/extent.h"

namespace sluice::test {

int MemoryFiles::add(std::span<const std::byte> bytes) {
  File file{"file-" + std::to_string(files_.size()), {}, ::memfd_create("sluice-test", MFD_CLOEXEC)};
  if (file.descriptor < 0 || ::ftruncate(file.descriptor, static_cast<::off_t>(bytes.size())) != 0)
    throw std::runtime_error("no memory file");
  if (!bytes.empty()) {
    void* const mapped = ::mmap(nullptr, bytes.size(), PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0);
    if (mapped == MAP_FAILED) throw std::runtime_error("no memory file");
    file.bytes = {static_cast<std::byte*>(mapped), bytes.size()};
    std::ranges::copy(bytes, file.bytes.begin());
  }
  files_.push_back(std::move(file));
  return count() - 1;
}

MemoryFiles::~MemoryFiles() {
  for (const File& file : files_) {
    if (!file.bytes.empty()) ::munmap(file.bytes.data(), file.bytes.size());
    ::close(file.descriptor);
  }
}

void MemoryFiles::set_faults(Faults faults) {
  const std::scoped_lock lock(mutex_);
  faults_ = faults;
  random_.seed(faults.seed);
}

Result<> MemoryFiles::expect_aligned(int file, std::uint64_t offset, std::span<std::byte> to) const {
  if (aligned_ && (offset | to.size() | reinterpret_cast<std::uintptr_t>(to.data())) % kDiskPage != 0)
    return fail(ErrorKind::io, path(file) + ": a direct read is not aligned");
  return {};
}

Result<std::size_t> MemoryFiles::misbehave(int file, std::size_t count) const {
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
  return count;
}

Result<std::size_t> MemoryFiles::read_some(int file, std::uint64_t offset, std::span<std::byte> to) const {
  ++reads_;
  TRY(expect_aligned(file, offset, to));
  const std::span<std::byte> from = files_[static_cast<std::size_t>(file)].bytes;
  const std::size_t there = offset >= from.size() ? 0 : std::min<std::size_t>(to.size(), from.size() - offset);
  TRY_TAKE(const std::size_t count, misbehave(file, there));
  if (count > 0) std::memcpy(to.data(), from.data() + offset, count);
  return count;
}

// The kernel's read is over: what misbehaving takes away is spoiled, nobody may rely on it.
Result<std::size_t> MemoryFiles::completed(const KernelRead& read) const {
  ++reads_;
  TRY(expect_aligned(read.file, read.offset, read.to));
  if (read.outcome < 0) return fail(ErrorKind::io, path(read.file) + ": the kernel cannot read it");
  const auto came = static_cast<std::size_t>(read.outcome);
  TRY_TAKE(const std::size_t count, misbehave(read.file, came));
  std::ranges::fill(read.to.subspan(count, came - count), std::byte{0xEE});
  return count;
}

std::vector<std::byte> random_bytes(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

}  // namespace sluice::test
