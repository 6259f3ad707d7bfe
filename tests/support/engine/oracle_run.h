// What goldens of families with an indexer and a draft head have in common: the float64 oracle's tiny checkpoint, run
// over its prompt and its greedy continuation, and comparisons of what every row chose.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/engine/traced_run.h"
#include "support/golden_arrays.h"

namespace sluice::test {

inline constexpr double kRelative = 1e-5;  // of an fp32 result against the oracle

class OracleRun : public testing::TestWithParam<const char*> {
 protected:
  // Of the model GetParam() of `family`, in which a row at position p can choose among (p + 1) / tokens_per_key keys.
  OracleRun(const char* family, std::size_t tokens_per_key);

  std::size_t visible(std::size_t position) const { return (position + 1) / tokens_per_key_; }
  std::span<const int> followers() const { return std::span(fed_).subspan(1); }

  // What the row saw in a layer with an indexer: what it chose, or everything visible.
  void expect_picks(const TracedRow& row, int layer, std::size_t position);
  // Scores at the golden's positions where something had to be left out; returns how many rows those are.
  std::size_t expect_scores(std::span<const TracedRow> rows, int layer);
  // Experts and weights of the draft head.
  void expect_draft_routes(const TracedRow& row, std::size_t position);

  std::filesystem::path directory_;
  GoldenArrays golden_;
  std::size_t tokens_per_key_;
  std::vector<int> fed_;
  std::unique_ptr<TracedRun> run_;
  std::vector<TracedRow> rows_;
  int draft_layer_;
};

}  // namespace sluice::test
