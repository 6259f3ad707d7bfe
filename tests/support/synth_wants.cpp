// See synth_wants.h.
#include "support/synth_wants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace sluice::test {

SynthTotals synth_totals(const SynthCheckpoint& checkpoint) {
  SynthTotals totals;
  for (const auto& shard : checkpoint.shards)
    for (const SynthTensor& tensor : shard) {
      ++totals.tensors;
      totals.bytes += tensor.stored.bytes();
    }
  return totals;
}

void expect_what_is_wanted(const SynthCheckpoint& checkpoint, const Census& wanted) {
  std::map<std::string, std::vector<std::uint64_t>> left;  // shapes by name
  for (const auto& shard : checkpoint.shards)
    for (const SynthTensor& tensor : shard) left[tensor.stored.name] = tensor.stored.shape;
  std::map<std::string, int> rows_wanted;  // a tensor may be cut into slices
  std::set<std::string> of_pairs;          // tensors of two elements a byte
  for (const auto& shard : checkpoint.shards)
    for (const SynthTensor& tensor : shard)
      if (tensor.values.kind == ValueKind::e2m1_codes) of_pairs.insert(tensor.stored.name);
  const auto want = [&](const TensorSpec& spec) {
    const auto found = left.find(left.contains(spec.name + "_packed") ? spec.name + "_packed" : spec.name);
    ASSERT_NE(found, left.end()) << spec.name;
    std::uint64_t elements = of_pairs.contains(found->first) ? 2 : 1;
    for (const std::uint64_t extent : found->second) elements *= extent;
    EXPECT_EQ(elements, static_cast<std::uint64_t>(spec.shape.rows) * static_cast<std::uint64_t>(spec.shape.cols))
        << spec.name;
    if ((rows_wanted[spec.name] += spec.held().rows) < spec.shape.rows) return;
    left.erase(found);
    left.erase(spec.name + "_scale");
    if (spec.name.ends_with(".weight")) left.erase(spec.name.substr(0, spec.name.size() - 7) + ".scale");
  };
  for (const BlockSpec& step : wanted.walk)
    for (const TensorSpec& spec : step.tensors) want(spec);
  for (int layer = 0; layer < wanted.layers; ++layer)
    for (int expert = 0; wanted.has_experts[static_cast<std::size_t>(layer)] && expert < wanted.experts; ++expert)
      for (const TensorSpec& spec : wanted.expert(layer, expert).tensors) want(spec);
  want(wanted.embedding);
  for (const IdTableSpec& table : wanted.id_tables) want(table.tensor);
  for (const auto& [name, shape] : left)
    EXPECT_TRUE(std::ranges::any_of(wanted.ignored,
                                    [&name = name](const std::string& prefix) { return name.starts_with(prefix); }))
        << name << " is not wanted";
}

}  // namespace sluice::test
