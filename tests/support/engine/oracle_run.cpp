// See oracle_run.h.
#include "support/engine/oracle_run.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "support/distances.h"
#include "support/engine/recorded_run.h"

namespace sluice::test {

OracleRun::OracleRun(const char* family, std::size_t tokens_per_key)
    : directory_(std::filesystem::path(SLUICE_SOURCE_DIR) / "tests/golden" / family / GetParam()),
      golden_(directory_),
      tokens_per_key_(tokens_per_key),
      fed_(golden_.facts().at("prompt_ids").get<std::vector<int>>()),
      draft_layer_(golden_.facts().at("mtp_layer").get<int>()) {
  const auto greedy = golden_.facts().at("greedy_ids").get<std::vector<int>>();
  fed_.insert(fed_.end(), greedy.begin(), greedy.end());
  EngineOptions options;
  options.draft_head = true;
  options.memory_bytes = resident_budget(directory_.string(), options);
  run_ = std::make_unique<TracedRun>(directory_.string(), options);
  rows_ = run_->feed(fed_, 16);
}

void OracleRun::expect_picks(const TracedRow& row, int layer, std::size_t position) {
  std::vector<int> wanted;
  for (const double pick : golden_.at("index_picks." + std::to_string(layer), {position}))
    if (pick >= 0) wanted.push_back(static_cast<int>(pick));
  const auto found = row.keys.find(layer);
  if (found == row.keys.end()) {
    EXPECT_EQ(wanted.size(), visible(position)) << "layer " << layer << " position " << position;
  } else {
    EXPECT_EQ(found->second, wanted) << "layer " << layer << " position " << position;
  }
}

std::size_t OracleRun::expect_scores(std::span<const TracedRow> rows, int layer) {
  const std::string name = "index_scores." + std::to_string(layer);
  const auto positions = golden_.facts().at("prefix_positions").get<std::vector<std::size_t>>();
  std::size_t compared = 0;
  for (std::size_t place = 0; place < golden_.shape(name)[0]; ++place) {
    const std::size_t position = positions[place];
    const TracedRow& row = rows[position];
    if (!row.scores.contains(layer)) continue;  // nothing had to be left out
    EXPECT_LT(distance(row.scores.at(layer), golden_.at(name, {place}).first(visible(position))), kRelative)
        << "layer " << layer << " position " << position;
    ++compared;
  }
  return compared;
}

void OracleRun::expect_draft_routes(const TracedRow& row, std::size_t position) {
  const std::vector<Route>& ours = row.routes.at(draft_layer_);
  const std::span<const double> ids = golden_.at("mtp_router_ids", {position});
  const std::span<const double> weights = golden_.at("mtp_router_weights", {position});
  for (std::size_t rank = 0; rank < ids.size(); ++rank) {
    const auto found = std::ranges::find(ours, static_cast<int>(ids[rank]), &Route::expert);
    ASSERT_NE(found, ours.end()) << "position " << position;
    EXPECT_NEAR(found->weight, weights[rank], kRelative * std::fabs(weights[rank]) * 10);
  }
}

}  // namespace sluice::test
