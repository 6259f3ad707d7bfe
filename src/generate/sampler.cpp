// See sampler.h.
#include "generate/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/counter_random.h"
#include "base/exact_math.h"

namespace sluice {

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
  for (const auto& [id, bias] : logit_bias)
    if (id < 0 || !(bias >= -100 && bias <= 100)) return wrong("logit_bias", bias, "between -100 and 100");
  return {};
}

double Sampler::weight(const Candidate& candidate, float largest) const {
  return exact_exp((static_cast<double>(candidate.logit) - largest) / params_.temperature);
}

void Sampler::penalise(std::vector<Candidate>& candidates) const {
  for (const auto& [id, bias] : params_.logit_bias) {
    if (static_cast<std::size_t>(id) >= candidates.size()) continue;  // a row of lm_head that has no token
    float& logit = candidates[static_cast<std::size_t>(id)].logit;
    logit = static_cast<float>(static_cast<double>(logit) + bias);
  }
  for (const auto& [id, generated] : seen_) {
    float& logit = candidates[static_cast<std::size_t>(id)].logit;
    double value = logit;
    value = value > 0 ? value / params_.repeat_penalty : value * params_.repeat_penalty;
    if (generated > 0) value -= params_.presence_penalty + params_.frequency_penalty * generated;
    logit = static_cast<float>(value);
  }
}

void Sampler::keep_top_k(std::vector<Candidate>& candidates) const {
  std::nth_element(candidates.begin(), candidates.begin() + params_.top_k, candidates.end(), more_likely);
  candidates.resize(static_cast<std::size_t>(params_.top_k));
  std::ranges::sort(candidates, {}, &Candidate::id);
}

// Takes the most likely tokens off a heap, one by one, until they are enough: usually few, so nothing is sorted.
void Sampler::keep_top_p(std::vector<Candidate>& candidates, float largest) const {
  double whole = 0, sum = 0;
  for (const Candidate& candidate : candidates) whole += weight(candidate, largest);
  const auto less_likely = [](const Candidate& a, const Candidate& b) { return more_likely(b, a); };
  std::ranges::make_heap(candidates, less_likely);
  auto rest = candidates.end();  // the heap is in front of it, what was taken behind
  while (rest != candidates.begin() && (rest == candidates.end() || sum < params_.top_p * whole)) {
    std::pop_heap(candidates.begin(), rest, less_likely);
    sum += weight(*--rest, largest);
  }
  candidates.erase(candidates.begin(), rest);
  std::ranges::sort(candidates, {}, &Candidate::id);
}

int Sampler::draw(const std::vector<Candidate>& candidates, float largest, double uniform) const {
  double whole = 0, sum = 0;
  for (const Candidate& candidate : candidates) whole += weight(candidate, largest);
  for (const Candidate& candidate : candidates) {
    sum += weight(candidate, largest);
    if (uniform * whole < sum) return candidate.id;  // true at the end at the latest, where sum is whole
  }
  return candidates.back().id;
}

int Sampler::choose(std::span<const float> logits, int position) const {
  const bool penalties = params_.repeat_penalty != 1 || params_.presence_penalty != 0 ||
                         params_.frequency_penalty != 0 || !params_.logit_bias.empty();
  if (params_.temperature == 0 && !penalties)
    return static_cast<int>(std::ranges::max_element(logits) - logits.begin());
  std::vector<Candidate> candidates;
  candidates.reserve(logits.size());
  for (const float logit : logits) candidates.push_back({logit, static_cast<int>(candidates.size())});
  if (penalties) penalise(candidates);
  const float largest = std::ranges::max_element(candidates, {}, &Candidate::logit)->logit;
  if (params_.temperature == 0) return std::ranges::find(candidates, largest, &Candidate::logit)->id;
  if (params_.top_k > 0 && params_.top_k < static_cast<int>(candidates.size())) keep_top_k(candidates);
  if (params_.top_p < 1) keep_top_p(candidates, largest);
  if (params_.min_p > 0)
    std::erase_if(candidates, [&](const Candidate& token) { return weight(token, largest) < params_.min_p; });
  return draw(candidates, largest, counter_uniform(seed_, static_cast<std::uint64_t>(position)));
}

}  // namespace sluice
