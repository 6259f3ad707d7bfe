// See engine.h.
#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice {

std::unique_ptr<SequenceState> Engine::new_state() const {
  return std::make_unique<SequenceState>(config().state_shape(survey_.scope()));
}

Result<> Engine::step(SequenceState& state, std::span<const int> tokens, bool want_logits) {
  const int rows = static_cast<int>(tokens.size()), vocab = config().vocab_size();
  state.open(rows);
  const Segment segment{&state, 0, rows};
  const int last_row[] = {rows - 1};
  TRY(model_->forward({.tokens = tokens,
                       .segments = {&segment, 1},
                       .logit_rows = want_logits ? std::span<const int>(last_row) : std::span<const int>(),
                       .logits = {logits_.data(), 1, vocab, vocab},
                       .after_layer = after_layer_,
                       .routed = routed_}));
  state.commit(rows);
  if (want_logits && !std::ranges::all_of(logits_, [](float logit) { return std::isfinite(logit); }))
    return fail(ErrorKind::corrupt, fmt::format("the logits after token {} are not finite numbers", state.length()),
                "weights are damaged: run sluice verify on the checkpoint");
  return {};
}

Result<> Engine::feed(SequenceState& state, std::span<const int> tokens, const CancelFlag& cancel) {
  while (!tokens.empty()) {
    if (cancel.requested()) return fail(ErrorKind::cancelled, "interrupted");
    const std::size_t rows = std::min(tokens.size(), static_cast<std::size_t>(plan_.prefill_chunk));
    TRY(step(state, tokens.first(rows), rows == tokens.size()));
    tokens = tokens.subspan(rows);
  }
  return {};
}

const char* Engine::io_mode() const {
  if (files_->count() > 0 && files_->aligned_only(0)) return "direct";
  return options().io == IoMode::drop ? "drop" : "buffered";
}

EngineStats Engine::stats() const {
  return {trunk_->stats(), experts_ ? experts_->stats() : ExpertStats{}, embedding_->bytes_read()};
}

void Engine::observe(std::function<void(int, const Routes&)> routed, std::function<void(int, Rows)> after_layer) {
  routed_ = std::move(routed);
  after_layer_ = std::move(after_layer);
}

}  // namespace sluice
