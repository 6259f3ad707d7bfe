// See engine.h.
#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "engine/kept_sequences.h"
#include "engine/operation_clock.h"
#include "engine/profile.h"
#include "engine/run_record.h"
#include "engine/usage_log.h"

namespace sluice {

namespace {

// Without a branch, so that compilers look at many numbers at once.
bool all_finite(std::span<const float> numbers) {
  constexpr std::int32_t kExponent = 0x7f800000;  // all of it: infinity and NaN
  std::int32_t strange = 0;
  for (const float number : numbers) strange |= (std::bit_cast<std::int32_t>(number) & kExponent) == kExponent ? -1 : 0;
  return strange == 0;
}

}  // namespace

Engine::Engine(Survey survey, const MemoryPlan& plan) : survey_(std::move(survey)), plan_(plan) {}
Engine::~Engine() = default;

std::unique_ptr<SequenceState> Engine::new_state() const {
  return std::make_unique<SequenceState>(config().state_shape(survey_.scope()));
}

Result<> Engine::step(std::span<const BatchPart> parts, std::function<bool()> given_up) {
  Result<> outcome = unless_refused(plan_.budget_bytes, [&] { return pass(parts, std::move(given_up)); });
  if (outcome) return outcome;
  const bool cancelled = outcome.error().kind == ErrorKind::cancelled;
  for (const BatchPart& part : parts)
    if (cancelled)
      part.state->give_up();
    else
      part.state->mark_broken();
  return outcome;
}

Result<> Engine::pass(std::span<const BatchPart> parts, std::function<bool()> given_up) {
  auto& [tokens, logit_rows, segments] = batch_;
  tokens.clear();
  logit_rows.clear();
  segments.clear();
  for (const BatchPart& part : parts) {
    const int first = static_cast<int>(tokens.size()), rows = static_cast<int>(part.tokens.size());
    part.state->open(rows, part.certain);
    segments.push_back({part.state, first, rows});
    tokens.insert(tokens.end(), part.tokens.begin(), part.tokens.end());
    for (int row = rows - part.logit_rows; row < rows; ++row) logit_rows.push_back(first + row);
  }
  const int vocab = config().vocab_size();
  SLUICE_CHECK(static_cast<int>(tokens.size()) <= plan_.prefill_chunk);
  SLUICE_CHECK(static_cast<int>(logit_rows.size()) <= options().logit_rows());
  const Profile::Clock::time_point begin = Profile::Clock::now();
  TRY(judged_forward({.tokens = tokens,
                      .segments = segments,
                      .logit_rows = logit_rows,
                      .logits = {logits_.data(), static_cast<int>(logit_rows.size()), vocab, vocab},
                      .hidden = options().draft_head ? hidden().slice(0, static_cast<int>(tokens.size())) : Rows{},
                      .after_layer = after_layer_,
                      .routed = routed_,
                      .foreseen = foreseen_,
                      .given_up = std::move(given_up)}));
  if (options().profile != nullptr)
    options().profile->add("pass", fmt::format("pass of {} tokens", tokens.size()), begin);
  for (std::size_t part = 0; part < parts.size(); ++part)
    if (parts[part].certain) parts[part].state->commit(segments[part].rows);
  return {};
}

Result<> Engine::judged_forward(const ForwardBatch& batch) {
  const bool judges =
      options().read_named == ReadNamed::where_it_pays && batch.tokens.size() <= std::size_t{kMostRowsThatExpect};
  if (!judges) return model_->forward(batch);
  const EngineStats before = stats();
  const auto begin = std::chrono::steady_clock::now();
  TRY(model_->forward(batch));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const EngineStats spent = stats() - before;
  read_ahead_governor_.step(took.count(), spent.disk_busy_seconds, spent.exposed_seconds());
  reads_named_ = read_ahead_governor_.reads_named();
  return {};
}

std::span<const float> Engine::logits(int row) const {
  const auto vocab = static_cast<std::size_t>(config().vocab_size());
  return std::span(logits_).subspan(static_cast<std::size_t>(row) * vocab, vocab);
}

Rows Engine::draft_logits() {
  const int vocab = config().vocab_size();
  return {logits_.data() + static_cast<std::size_t>(options().logit_rows()) * static_cast<std::size_t>(vocab), 1, vocab,
          vocab};
}

Result<> Engine::check_logits(int row, const SequenceState& state) const {
  if (all_finite(logits(row))) return {};
  return fail(ErrorKind::corrupt, fmt::format("the logits after token {} are not finite numbers", state.length()),
              "weights are damaged: run sluice verify on the checkpoint");
}

Result<> Engine::step(SequenceState& state, std::span<const int> tokens, bool want_logits) {
  const BatchPart part{&state, tokens, want_logits ? 1 : 0};
  TRY(step({&part, 1}));
  return want_logits ? check_logits(0, state) : Result<>{};
}

std::uint64_t Engine::trunk_bytes() const {
  std::uint64_t bytes = 0;
  for (const std::uint64_t step : survey_.needs.step_bytes) bytes += step;
  return bytes;
}

const char* Engine::io_mode() const {
  if (files_->count() > 0 && files_->aligned_only(0)) return "direct";
  return options().io == IoMode::drop ? "drop" : "buffered";
}

// The trunk first: every token needs all of it.
bool Engine::tend() {
  if (options().preload && trunk_->tend()) return true;
  return experts_ != nullptr && experts_->tend();
}

void Engine::end_turn() {
  if (pins_ != nullptr) pins_->between_turns();
}

std::string Engine::usage_refusal() const { return usage_ != nullptr ? usage_->refusal() : ""; }

Result<> Engine::write_usage() { return usage_ != nullptr ? usage_->write() : Result<>{}; }

void Engine::write_usage_now_and_then() {
  if (usage_ != nullptr) usage_->write_now_and_then();
}

EngineStats Engine::stats() const {
  return {trunk_->stats(),
          experts_ ? experts_->stats() : ExpertStats{},
          embedding_->stats(),
          governed_ != nullptr ? governed_->governor_stats() : GovernorStats{},
          queue_->stats().busy_seconds,
          clock_ ? clock_->spent() : 0,
          clock_ ? clock_->watching() : 0,
          pins_ != nullptr ? pins_->stats() : PinStats{}};
}

void Engine::observe(std::function<void(int, const Routes&)> routed, std::function<void(int, Rows)> after_layer) {
  routed_ = std::move(routed);
  after_layer_ = std::move(after_layer);
}

}  // namespace sluice
