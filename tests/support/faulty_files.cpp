// See faulty_files.h.
#include "support/faulty_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <thread>

#include "io/extent.h"

namespace sluice::test {
namespace {

bool on_pages(std::uint64_t offset, std::span<std::byte> to) {
  return (offset | to.size() | reinterpret_cast<std::uintptr_t>(to.data())) % kDiskPage == 0;
}

}  // namespace

void FaultyFiles::set_plan(FaultPlan plan) {
  plan_ = plan;
  reads_ = failed_ = 0;
}

Result<std::size_t> FaultyFiles::read_some(int file, std::uint64_t offset, std::span<std::byte> to) const {
  return attempt(file, offset, to, [&] { return inner_->read_some(file, offset, to); });
}

Result<std::size_t> FaultyFiles::completed(const KernelRead& read) const {
  return attempt(read.file, read.offset, read.to, [&] { return inner_->completed(read); });
}

Result<std::size_t> FaultyFiles::attempt(int file, std::uint64_t offset, std::span<std::byte> to,
                                         FunctionRef<Result<std::size_t>()> inner) const {
  const auto number = static_cast<std::int64_t>(reads_.fetch_add(1));
  if (plan_.aligned_only && !on_pages(offset, to))
    return fail(ErrorKind::io, fmt::format("{}: a direct read is not aligned", path(file)));
  std::seed_seq seed{plan_.seed, static_cast<std::uint64_t>(number)};
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> share(0, 1);
  if (plan_.longest_delay.count() > 0) std::this_thread::sleep_for(plan_.longest_delay * share(random));
  if (number >= plan_.fail_from && number < plan_.fail_from + plan_.fail_count) {
    ++failed_;
    std::ranges::fill(to, std::byte{0xEE});  // a failing read may have written anything
    return fail(ErrorKind::io, fmt::format("{}: reading at offset {} failed: planted", path(file), offset));
  }
  if (share(random) < plan_.empty_reads) return std::size_t{0};

  std::size_t wanted = to.size();
  if (to.size() > 1 && share(random) < plan_.short_reads)
    wanted = 1 + static_cast<std::size_t>(share(random) * static_cast<double>(to.size() - 1));
  if (file == plan_.shrunk_file) {
    const std::uint64_t end = size(file) - plan_.shrunk_by;
    wanted = offset >= end ? 0 : std::min<std::size_t>(wanted, end - offset);
  }
  // The real read goes on behind what is admitted, and that part is spoiled: nobody may rely on it.
  TRY_TAKE(const std::size_t got, inner());
  const std::size_t admitted = std::min(got, wanted);
  std::ranges::fill(to.subspan(admitted), std::byte{0xEE});
  return admitted;
}

}  // namespace sluice::test
