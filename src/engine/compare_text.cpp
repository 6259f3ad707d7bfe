// See compare_text.h.
#include "engine/compare_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/exact_math.h"

namespace sluice {

namespace {

// A model reading one window, with the logits of its last step.
class Reader {
 public:
  Reader(Engine& engine, int rows)
      : engine_(engine),
        vocab_(engine.config().vocab_size()),
        logits_(static_cast<std::size_t>(rows) * static_cast<std::size_t>(vocab_)),
        all_rows_(static_cast<std::size_t>(rows)) {
    std::iota(all_rows_.begin(), all_rows_.end(), 0);
  }

  void restart() { state_ = engine_.new_state(); }

  Result<> read(std::span<const int> tokens) {
    const int rows = static_cast<int>(tokens.size());
    state_->open(rows);
    const Segment segment{state_.get(), 0, rows};
    TRY(engine_.model().forward({.tokens = tokens,
                                 .segments = {&segment, 1},
                                 .logit_rows = std::span<const int>(all_rows_).first(tokens.size()),
                                 .logits = {logits_.data(), rows, vocab_, vocab_}}));
    state_->commit(rows);
    const auto used = std::span<const float>(logits_).first(tokens.size() * static_cast<std::size_t>(vocab_));
    if (std::ranges::all_of(used, [](float logit) { return std::isfinite(logit); })) return {};
    return fail(ErrorKind::corrupt, "logits are not finite numbers", "weights are damaged: run sluice verify");
  }

  std::span<const float> logits(std::size_t row) const {
    const auto width = static_cast<std::size_t>(vocab_);
    return std::span<const float>(logits_).subspan(row * width, width);
  }

 private:
  Engine& engine_;
  const int vocab_;
  std::vector<float> logits_;  // [rows, vocab]
  std::vector<int> all_rows_;
  std::unique_ptr<SequenceState> state_;
};

// A row of logits as log probabilities: logit - shift.
struct Prediction {
  explicit Prediction(std::span<const float> row) : logits(row) {
    likeliest = static_cast<std::size_t>(std::ranges::max_element(row) - row.begin());
    const double most = static_cast<double>(row[likeliest]);
    double sum = 0;
    for (const float logit : row) sum += exact_exp(static_cast<double>(logit) - most);
    shift = most + exact_log(sum);
  }
  double log_probability(std::size_t token) const { return static_cast<double>(logits[token]) - shift; }

  std::span<const float> logits;
  std::size_t likeliest = 0;  // the lowest id among equals
  double shift = 0;
};

double divergence(const Prediction& p, const Prediction& q) {
  double sum = 0;
  for (std::size_t token = 0; token < p.logits.size(); ++token) {
    const double log_p = p.log_probability(token);
    sum += exact_exp(log_p) * (log_p - q.log_probability(token));
  }
  return std::max(sum, 0.0);  // rounding may leave it a hair below
}

struct Sums {
  TextDamage damage;
  double divergence = 0, original_surprise = 0, converted_surprise = 0;

  void add(const Prediction& original, const Prediction& converted, std::size_t next) {
    ++damage.predictions;
    damage.agreements += original.likeliest == converted.likeliest ? 1 : 0;
    damage.original_right += original.likeliest == next ? 1 : 0;
    damage.converted_right += converted.likeliest == next ? 1 : 0;
    const double apart = sluice::divergence(original, converted);
    divergence += apart;
    damage.largest_divergence = std::max(damage.largest_divergence, apart);
    original_surprise -= original.log_probability(next);
    converted_surprise -= converted.log_probability(next);
  }

  TextDamage result() const {
    TextDamage made = damage;
    const auto count = static_cast<double>(damage.predictions);
    made.divergence = divergence / count;
    made.original_perplexity = exact_exp(original_surprise / count);
    made.converted_perplexity = exact_exp(converted_surprise / count);
    return made;
  }
};

}  // namespace

std::uint64_t compare_text_bytes(const ModelConfig& config, int rows) {
  return 2 * sizeof(float) * static_cast<std::uint64_t>(config.vocab_size()) * static_cast<std::uint64_t>(rows);
}

Result<TextDamage> compare_text(Engine& original, Engine& converted, std::span<const int> ids, int window,
                                const CancelFlag& cancel, FunctionRef<void(std::size_t done)> progress) {
  if (ids.size() < 2) return fail(ErrorKind::bad_input, "the text is one token or none: nothing can be predicted");
  const int rows = std::min({kCompareRows, original.plan().prefill_chunk, converted.plan().prefill_chunk});
  Reader before(original, rows), after(converted, rows);
  Sums sums;
  const auto step = static_cast<std::size_t>(rows), length = static_cast<std::size_t>(window);
  for (std::size_t begin = 0; begin + 1 < ids.size(); begin += length) {
    const std::span<const int> tokens = ids.subspan(begin, std::min(length, ids.size() - begin));
    before.restart();
    after.restart();
    for (std::size_t at = 0; at + 1 < tokens.size(); at += step) {
      if (cancel.requested()) return fail(ErrorKind::cancelled, "interrupted");
      const std::span<const int> read = tokens.subspan(at, std::min(step, tokens.size() - 1 - at));
      TRY(before.read(read));
      TRY(after.read(read));
      for (std::size_t row = 0; row < read.size(); ++row)
        sums.add(Prediction(before.logits(row)), Prediction(after.logits(row)),
                 static_cast<std::size_t>(tokens[at + row + 1]));
      progress(begin + at + read.size());
    }
  }
  return sums.result();
}

}  // namespace sluice
