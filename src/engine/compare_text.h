// What a conversion did to a model's predictions: the original and the converted model read the same tokens, and what
// each expects next is compared.
//
// Every sum is in double, in the order of the tokens; with the engines' own promise the report is the same for every
// budget and number of threads.
#pragma once

#include <cstdint>
#include <span>

#include "base/cancel.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "engine/engine.h"

namespace sluice {

struct TextDamage {
  std::uint64_t predictions = 0;                          // tokens that had one before them in their window
  std::uint64_t agreements = 0;                           // both models find the same next token likeliest
  std::uint64_t original_right = 0, converted_right = 0;  // and it is the one that comes
  double divergence = 0;  // mean KL(original || converted) of the next-token distributions, in nats
  double largest_divergence = 0;
  double original_perplexity = 0, converted_perplexity = 0;  // of the tokens that come
};

// Both read `ids` in windows of `window` tokens, each from the beginning of a sequence. Requires: both engines have the
// vocabulary of the ids and a context of `window`; window >= 2. Too few ids to predict one: bad_input.
Result<TextDamage> compare_text(Engine& original, Engine& converted, std::span<const int> ids, int window,
                                const CancelFlag& cancel, FunctionRef<void(std::size_t done)> progress);

// Bytes that compare_text holds beside the two engines, for steps of `rows` tokens.
std::uint64_t compare_text_bytes(const ModelConfig& config, int rows);
inline constexpr int kCompareRows = 32;  // tokens of a step at most

}  // namespace sluice
