// See traced_run.h.
#include "support/engine/traced_run.h"

#include <algorithm>
#include <numeric>

#include "support/must.h"

namespace sluice::test {
namespace {

std::vector<int> all_rows(std::size_t count) {
  std::vector<int> rows(count);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

// Room for one vector a row.
struct Block {
  Block(std::size_t rows, int width) : floats(rows * static_cast<std::size_t>(width)) {
    view = {floats.data(), static_cast<int>(rows), width, width};
  }
  std::vector<float> floats;
  Rows view;
};

template <class Batch>
void watch(Batch& batch, std::span<TracedRow> rows) {
  batch.after_layer = [rows](int layer, Rows residual) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const std::span<float> values = residual[static_cast<int>(row)];
      rows[row].residual[layer].assign(values.begin(), values.end());
    }
  };
  batch.routed = [rows](int layer, const Routes& routes) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const std::span<const Route> chosen = routes.of(static_cast<int>(row));
      rows[row].routes[layer].assign(chosen.begin(), chosen.end());
    }
  };
  batch.keys_chosen = [rows](int layer, int row, std::span<const float> scores, std::span<const int> positions) {
    rows[static_cast<std::size_t>(row)].scores[layer].assign(scores.begin(), scores.end());
    rows[static_cast<std::size_t>(row)].keys[layer].assign(positions.begin(), positions.end());
  };
}

void keep_logits(std::span<TracedRow> rows, Rows logits) {
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::span<float> values = logits[static_cast<int>(row)];
    rows[row].logits.assign(values.begin(), values.end());
  }
}

}  // namespace

TracedRun::TracedRun(const std::string& directory, const EngineOptions& options) {
  Survey found = must(survey(must(know_model(directory)), options));
  const MemoryPlan plan = must(plan_memory(found));
  engine_ = must(Engine::open(std::move(found), plan));
  state_ = engine_->new_state();
  if (DraftHead* const head = engine_->model().draft_head()) draft_state_ = head->new_state();
}

std::vector<TracedRow> TracedRun::feed(std::span<const int> tokens, int chunk) {
  const std::size_t most = chunk > 0 ? static_cast<std::size_t>(chunk) : tokens.size();
  std::vector<TracedRow> all;
  for (; !tokens.empty(); tokens = tokens.subspan(std::min(most, tokens.size()))) {
    const std::size_t rows = std::min(most, tokens.size());
    for (TracedRow& row : try_rows(tokens.first(rows), static_cast<int>(rows))) all.push_back(std::move(row));
  }
  return all;
}

std::vector<TracedRow> TracedRun::try_rows(std::span<const int> tokens, int keep) {
  std::vector<TracedRow> rows(tokens.size());
  const Block logits(rows.size(), engine_->config().vocab_size()), hidden(rows.size(), engine_->config().draft_width());
  const std::vector<int> wanted = all_rows(rows.size());
  const Segment segment{state_.get(), 0, static_cast<int>(rows.size())};
  ForwardBatch batch{.tokens = tokens, .segments = {&segment, 1}, .logit_rows = wanted, .logits = logits.view};
  batch.hidden = hidden.view;
  watch(batch, rows);
  state_->open(segment.rows);
  must(engine_->model().forward(batch));
  state_->commit(keep);
  keep_logits(rows, logits.view);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::span<float> values = hidden.view[static_cast<int>(row)];
    rows[row].hidden.assign(values.begin(), values.end());
  }
  return rows;
}

std::vector<TracedRow> TracedRun::extend(std::span<const TracedRow> from, std::span<const int> next, int chunk) {
  const int width = engine_->config().draft_width();
  std::vector<TracedRow> all(from.size());
  const std::size_t most = chunk > 0 ? static_cast<std::size_t>(chunk) : from.size();
  for (std::size_t first = 0; first < from.size(); first += most) {
    const std::size_t count = std::min(most, from.size() - first);
    const Block logits(count, engine_->config().vocab_size()), hidden(count, width);
    for (std::size_t row = 0; row < count; ++row)
      std::ranges::copy(from[first + row].hidden, hidden.view[static_cast<int>(row)].begin());
    const std::vector<int> wanted = all_rows(count);
    DraftBatch batch{.state = draft_state_.get(),
                     .hidden = hidden.view,
                     .next = next.subspan(first, count),
                     .logit_rows = wanted,
                     .logits = logits.view};
    const std::span<TracedRow> rows = std::span(all).subspan(first, count);
    watch(batch, rows);
    draft_state_->open(static_cast<int>(count));
    cursor_ = must(engine_->model().draft_head()->extend(batch));
    draft_state_->commit(static_cast<int>(count));
    keep_logits(rows, logits.view);
  }
  return all;
}

std::vector<float> TracedRun::ahead(int token) {
  std::vector<float> logits(static_cast<std::size_t>(engine_->config().vocab_size()));
  const int width = static_cast<int>(logits.size());
  must(engine_->model().draft_head()->ahead(cursor_, token, {logits.data(), 1, width, width}));
  return logits;
}

}  // namespace sluice::test
