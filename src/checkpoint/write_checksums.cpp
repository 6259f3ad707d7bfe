// See write_checksums.h.
#include "checkpoint/write_checksums.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>

#include "checkpoint/changed_runs.h"

namespace sluice {

namespace {

std::vector<FileRun> merged(std::span<const FileRun> some, std::span<const FileRun> others) {
  std::vector<FileRun> all;
  const auto less = [](const FileRun& left, const FileRun& right) { return left < right; };
  std::ranges::set_union(some, others, std::back_inserter(all), less);
  return all;
}

tl::unexpected<Error> refusal(const Files& files, const WeightFault& fault, std::string hint) {
  return fail(ErrorKind::corrupt,
              fmt::format("{}: {}{}", files.path(fault.file),
                          fault.tensor.empty() ? std::string() : in_quotes(fault.tensor) + ": ", fault.problem),
              std::move(hint));
}

}  // namespace

Result<> write_checksums(const std::string& directory, const TensorIndex& index, const Files& files,
                         const BoundCensus& bound, const VerifyOptions& options, VerifyProgress progress) {
  std::vector<FileRun> runs = runs_of(bound);
  const Result<std::optional<Checksums>> known = Checksums::read(directory, index.files());
  const Checksums* const older = known && *known ? &**known : nullptr;
  // Those of another part of the model, or written for another layout of blocks, are of other runs.
  const std::vector<FileRun> all = older == nullptr ? runs : merged(runs, older->runs());
  RunHasher hasher(all);
  VerifyOptions hashing = options;
  hashing.hasher = &hasher;
  TRY_TAKE(const std::vector<WeightFault> faults, verify_weights(index, files, hashing, progress));
  if (!faults.empty())
    return refusal(files, faults.front(),
                   "no checksums were written: fetch this file again; `sluice verify` names all that are damaged");
  if (older != nullptr)
    if (const std::vector<WeightFault> changed = changed_runs(bound, *older, hasher); !changed.empty())
      return refusal(
          files, changed.front(),
          fmt::format("no checksums were written: fetch this file again, or remove {} first if the change was meant",
                      (std::filesystem::path(directory) / kChecksumsFile).string()));
  std::vector<std::uint64_t> sums;
  sums.reserve(runs.size());
  for (const FileRun& run : runs) sums.push_back(*hasher.find_sum(run));
  return Checksums(index.files(), std::move(runs), std::move(sums)).write(directory);
}

}  // namespace sluice
