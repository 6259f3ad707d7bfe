// See sampler.h.
#include "generate/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/counter_random.h"
#include "generate/likeliest.h"

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

std::span<const float> Sampler::penalised(SamplingRoom& room, std::span<const float> logits) const {
  if (params_.repeat_penalty == 1 && params_.presence_penalty == 0 && params_.frequency_penalty == 0 &&
      params_.logit_bias.empty())
    return logits;
  room.logits.assign(logits.begin(), logits.end());
  for (const auto& [id, bias] : params_.logit_bias) {
    if (static_cast<std::size_t>(id) >= logits.size()) continue;  // a row of lm_head that has no token
    float& logit = room.logits[static_cast<std::size_t>(id)];
    logit = static_cast<float>(static_cast<double>(logit) + bias);
  }
  for (const auto& [id, generated] : seen_) {
    float& logit = room.logits[static_cast<std::size_t>(id)];
    double value = logit;
    value = value > 0 ? value / params_.repeat_penalty : value * params_.repeat_penalty;
    if (generated > 0) value -= params_.presence_penalty + params_.frequency_penalty * generated;
    logit = static_cast<float>(value);
  }
  return room.logits;
}

namespace {

// Of the tokens that are left those at room.places, rising, stay.
void keep_places(SamplingRoom& room) {
  if (room.ids.empty())
    room.ids = room.places;
  else
    for (std::size_t to = 0; to < room.places.size(); ++to)
      room.ids[to] = room.ids[static_cast<std::size_t>(room.places[to])];
  for (std::size_t to = 0; to < room.places.size(); ++to)
    room.weights[to] = room.weights[static_cast<std::size_t>(room.places[to])];
  room.ids.resize(room.places.size());
  room.weights.resize(room.places.size());
}

// The most likely k of all: room.ids, and their logits.
std::span<const float> keep_top_k(SamplingRoom& room, std::span<const float> logits, int k) {
  find_likeliest(room.ops, logits, k, room.ids);
  room.likeliest.clear();
  room.likeliest.reserve(room.ids.size());
  for (const int id : room.ids) room.likeliest.push_back(logits[static_cast<std::size_t>(id)]);
  return room.likeliest;
}

// Adds the most likely up until they are enough. Usually they are few, so not all are put in order.
void keep_top_p(SamplingRoom& room, std::span<const float> logits, double p) {
  double whole = 0;
  for (const double weight : room.weights) whole += weight;
  constexpr std::size_t kFew = 64;
  for (std::size_t most = std::min(kFew, logits.size());; most = std::min(8 * most, logits.size())) {
    find_likeliest(room.ops, logits, static_cast<int>(most), room.places);
    sort_by_likelihood(logits, room.places);
    std::size_t count = 0;
    double sum = 0;
    do sum += room.weights[static_cast<std::size_t>(room.places[count++])];
    while (count < most && sum < p * whole);
    if (sum < p * whole && most < logits.size()) continue;
    room.places.resize(count);
    std::ranges::sort(room.places);
    return keep_places(room);
  }
}

void drop_below(SamplingRoom& room, double least) {
  room.places.clear();
  room.places.reserve(room.weights.size());
  for (std::size_t place = 0; place < room.weights.size(); ++place)
    if (!(room.weights[place] < least)) room.places.push_back(static_cast<int>(place));
  keep_places(room);
}

int draw(SamplingRoom& room, double uniform) {
  double sum = 0;
  for (double& weight : room.weights) weight = sum += weight;  // of the token and all before it
  const auto drawn = std::ranges::upper_bound(room.weights, uniform * sum) - room.weights.begin();
  const auto place = std::min(static_cast<std::size_t>(drawn), room.weights.size() - 1);
  return room.ids.empty() ? static_cast<int>(place) : room.ids[place];
}

}  // namespace

int Sampler::choose(SamplingRoom& room, std::span<const float> logits, int position) const {
  std::span<const float> left = penalised(room, logits);
  find_likeliest(room.ops, left, 1, room.places);
  if (params_.temperature == 0) return room.places.front();
  const float largest = left[static_cast<std::size_t>(room.places.front())];
  room.ids.clear();
  if (params_.top_k > 0 && params_.top_k < static_cast<int>(left.size())) left = keep_top_k(room, left, params_.top_k);
  room.weights.clear();
  room.weights.resize(left.size());
  room.ops.exp_weights(left, largest, params_.temperature, room.weights);
  if (params_.top_p < 1) keep_top_p(room, left, params_.top_p);
  if (params_.min_p > 0) drop_below(room, params_.min_p);
  return draw(room, counter_uniform(seed_, static_cast<std::uint64_t>(position)));
}

}  // namespace sluice
