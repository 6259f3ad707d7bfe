// See changed_runs.h.
#include "checkpoint/changed_runs.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>

namespace sluice {

std::vector<WeightFault> changed_runs(const BoundCensus& bound, const Checksums& sums, const RunHasher& hasher) {
  std::map<std::size_t, std::string> wrong;  // run -> its block
  for (std::size_t run = 0; run < sums.runs().size(); ++run)
    if (const std::optional<std::uint64_t> sum = hasher.find_sum(sums.runs()[run]); sum && *sum != sums.sum(run))
      wrong[run] = "a part that is not looked at now";
  if (wrong.empty()) return {};
  visit_runs(bound, [&](const FileRun& run, FunctionRef<std::string()> label) {
    const std::optional<std::size_t> number = sums.find(run);
    if (const auto found = number ? wrong.find(*number) : wrong.end(); found != wrong.end()) found->second = label();
    return true;
  });
  std::vector<WeightFault> faults;
  for (const auto& [number, block] : wrong) {
    const FileRun& run = sums.runs()[number];
    faults.push_back(
        {run.file, "",
         fmt::format("{}: bytes {} to {} do not match their checksum", block, run.offset, run.offset + run.bytes)});
  }
  return faults;
}

}  // namespace sluice
