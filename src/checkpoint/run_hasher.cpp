// See run_hasher.h.
#include "checkpoint/run_hasher.h"

#include <xxhash.h>

#include <algorithm>

#include "base/check.h"

namespace sluice {

struct RunHasher::Open {
  std::size_t run = 0;
  bool broken = false;
  XXH3_state_t* state = XXH3_createState();

  explicit Open(std::size_t number) : run(number) { XXH3_64bits_reset(state); }
  ~Open() { XXH3_freeState(state); }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;
};

RunHasher::RunHasher(std::span<const FileRun> runs) : runs_(runs), sums_(runs.size()), whole_(runs.size()) {}
RunHasher::~RunHasher() = default;

void RunHasher::feed(int file, std::uint64_t offset, std::uint64_t count, const std::byte* bytes) {
  const std::uint64_t end = offset + count;
  for (; next_ < runs_.size() && runs_[next_].file == file && runs_[next_].offset < end; ++next_) {
    const FileRun& run = runs_[next_];
    SLUICE_CHECK(run.offset >= offset);
    if (bytes == nullptr || run.offset + run.bytes > end) {
      open_.push_back(std::make_unique<Open>(next_));
      continue;
    }
    sums_[next_] = XXH3_64bits(bytes + (run.offset - offset), run.bytes);
    whole_[next_] = true;
  }
  std::erase_if(open_, [&](const std::unique_ptr<Open>& one) {
    const FileRun& run = runs_[one->run];
    SLUICE_CHECK(run.file == file);
    const std::uint64_t from = std::max(run.offset, offset), to = std::min(run.offset + run.bytes, end);
    if (bytes == nullptr)
      one->broken = true;
    else
      XXH3_64bits_update(one->state, bytes + (from - offset), to - from);
    if (run.offset + run.bytes > end) return false;
    sums_[one->run] = XXH3_64bits_digest(one->state);
    whole_[one->run] = !one->broken;
    return true;
  });
}

std::optional<std::uint64_t> RunHasher::find_sum(const FileRun& run) const {
  const auto found = std::lower_bound(runs_.begin(), runs_.end(), run);
  SLUICE_CHECK(found != runs_.end() && *found == run);
  const auto number = static_cast<std::size_t>(found - runs_.begin());
  return whole_[number] ? std::optional(sums_[number]) : std::nullopt;
}

}  // namespace sluice
