// See write_checksums.h.
#include "checkpoint/write_checksums.h"

#include <fmt/format.h>

#include <utility>

namespace sluice {

Result<> write_checksums(const std::string& directory, const TensorIndex& index, const Files& files,
                         const BoundCensus& bound, const VerifyOptions& options, VerifyProgress progress) {
  std::vector<FileRun> runs = runs_of(bound);
  RunHasher hasher(runs);
  VerifyOptions hashing = options;
  hashing.hasher = &hasher;
  TRY_TAKE(const std::vector<WeightFault> faults, verify_weights(index, files, hashing, progress));
  if (!faults.empty()) {
    const WeightFault& first = faults.front();
    return fail(ErrorKind::corrupt,
                fmt::format("{}: {}{}", files.path(first.file),
                            first.tensor.empty() ? std::string() : in_quotes(first.tensor) + ": ", first.problem),
                "no checksums were written: fetch this file again; `sluice verify` names all that are damaged");
  }
  std::vector<std::uint64_t> sums = hasher.sums();
  return Checksums(index.files(), std::move(runs), std::move(sums)).write(directory);
}

}  // namespace sluice
