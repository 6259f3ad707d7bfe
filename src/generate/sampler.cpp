// See sampler.h.
#include "generate/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/counter_random.h"
#include "base/exact_math.h"

namespace sluice {

namespace {

struct Candidate {
  int id;
  double value;  // logit, later probability (unnormalised)
};

bool more_likely(const Candidate& a, const Candidate& b) {
  return a.value != b.value ? a.value > b.value : a.id < b.id;
}

// Keeps the shortest prefix whose values sum to at least p of the whole. Candidates are sorted.
void keep_top_p(std::vector<Candidate>& candidates, double p) {
  double whole = 0, sum = 0;
  for (const Candidate& candidate : candidates) whole += candidate.value;
  std::size_t kept = 0;
  while (kept < candidates.size() && (kept == 0 || sum < p * whole)) sum += candidates[kept++].value;
  candidates.resize(kept);
}

int draw(const std::vector<Candidate>& candidates, double uniform) {
  double whole = 0, sum = 0;
  for (const Candidate& candidate : candidates) whole += candidate.value;
  for (const Candidate& candidate : candidates) {
    sum += candidate.value;
    if (uniform * whole < sum) return candidate.id;
  }
  return candidates.back().id;
}

}  // namespace

Result<> SamplingParams::validate() const {
  const auto wrong = [](std::string_view field, double value, std::string_view range) {
    return fail(ErrorKind::bad_input, fmt::format("{} is {}, and must be {}", field, value, range));
  };
  if (!(temperature >= 0 && temperature <= 100)) return wrong("temperature", temperature, "between 0 and 100");
  if (top_k < 0) return wrong("top_k", top_k, "0 or more");
  if (!(top_p > 0 && top_p <= 1)) return wrong("top_p", top_p, "above 0 and at most 1");
  if (!(min_p >= 0 && min_p <= 1)) return wrong("min_p", min_p, "between 0 and 1");
  if (!(repeat_penalty > 0 && repeat_penalty <= 100))
    return wrong("repeat_penalty", repeat_penalty, "above 0 and at most 100");
  if (!(presence_penalty >= -100 && presence_penalty <= 100))
    return wrong("presence_penalty", presence_penalty, "between -100 and 100");
  if (!(frequency_penalty >= -100 && frequency_penalty <= 100))
    return wrong("frequency_penalty", frequency_penalty, "between -100 and 100");
  return {};
}

double Sampler::penalised(float logit, int id) const {
  double value = logit;
  const auto found = seen_.find(id);
  if (found == seen_.end()) return value;
  value = value > 0 ? value / params_.repeat_penalty : value * params_.repeat_penalty;
  if (found->second.generated > 0)
    value -= params_.presence_penalty + params_.frequency_penalty * found->second.generated;
  return value;
}

int Sampler::choose(std::span<const float> logits, int position) const {
  const int count = static_cast<int>(logits.size());
  std::vector<Candidate> candidates;
  if (params_.temperature == 0) {
    Candidate best{0, penalised(logits[0], 0)};
    for (int id = 1; id < count; ++id)
      if (const double value = penalised(logits[static_cast<std::size_t>(id)], id); value > best.value)
        best = {id, value};
    return best.id;
  }
  candidates.reserve(logits.size());
  for (int id = 0; id < count; ++id)
    candidates.push_back({id, penalised(logits[static_cast<std::size_t>(id)], id) / params_.temperature});
  if (params_.top_k > 0 && params_.top_k < count) {
    std::nth_element(candidates.begin(), candidates.begin() + params_.top_k, candidates.end(), more_likely);
    candidates.resize(static_cast<std::size_t>(params_.top_k));
  }
  std::sort(candidates.begin(), candidates.end(), more_likely);
  const double largest = candidates.front().value;
  for (Candidate& candidate : candidates) candidate.value = exact_exp(candidate.value - largest);
  if (params_.top_p < 1) keep_top_p(candidates, params_.top_p);
  std::erase_if(candidates,
                [&](const Candidate& candidate) { return candidate.value < params_.min_p; });  // largest is 1
  return draw(candidates, counter_uniform(seed_, static_cast<std::uint64_t>(position)));
}

}  // namespace sluice
