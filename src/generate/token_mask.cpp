// See token_mask.h.
#include "generate/token_mask.h"

#include <algorithm>

namespace sluice {

std::optional<int> TokenMask::only(int count) const {
  std::optional<int> found;
  for (int id = 0; id < count; ++id) {
    if (words_[static_cast<std::size_t>(id) / 64] == 0) {
      id |= 63;  // on to the next word
      continue;
    }
    if (!allows(id)) continue;
    if (found) return std::nullopt;
    found = id;
  }
  return found;
}

VocabularyOrder::VocabularyOrder(int count, std::function<std::string_view(int)> bytes)
    : count_(count), bytes_(std::move(bytes)) {
  for (int id = 0; id < count; ++id)
    if (!bytes_(id).empty()) ids_.push_back(id);
  std::ranges::sort(ids_, [&](int a, int b) {
    const std::string_view left = bytes_(a), right = bytes_(b);
    return left != right ? left < right : a < b;
  });
  std::string_view before;
  for (const int id : ids_) {
    const std::string_view one = bytes_(id);
    const auto differs = std::ranges::mismatch(before, one);
    const auto shared = static_cast<std::size_t>(differs.in2 - one.begin());
    shared_.push_back(static_cast<std::uint16_t>(std::min<std::size_t>(shared, UINT16_MAX)));
    before = one;
  }
}

TokenMask VocabularyOrder::allowed(GrammarMatcher& matcher, GrammarMatcher::State state) const {
  TokenMask mask(static_cast<std::size_t>(count_));
  for (const int id : matcher.tokens_after(state))
    if (id < count_) mask.allow(id);
  std::vector<GrammarMatcher::State> path = {state};  // after each byte of the token in hand
  for (std::size_t place = 0; place < ids_.size();) {
    const std::string_view bytes = bytes_(ids_[place]);
    path.resize(std::min<std::size_t>(path.size(), shared_[place] + std::size_t{1}));
    while (path.size() <= bytes.size()) {
      const GrammarMatcher::State next =
          matcher.after_byte(path.back(), static_cast<unsigned char>(bytes[path.size() - 1]));
      if (next == GrammarMatcher::kNone) break;
      path.push_back(next);
    }
    if (matcher.overflowed()) return mask;
    const bool fits = path.size() == bytes.size() + 1;
    if (fits) mask.allow(ids_[place]);
    ++place;
    // Where the walk stopped, every token that begins alike stops too.
    while (!fits && place < ids_.size() && shared_[place] >= path.size()) ++place;
  }
  return mask;
}

std::shared_ptr<const VocabularyOrder> order_of(const Tokenizer& tokenizer, int count) {
  return std::make_shared<VocabularyOrder>(std::min(count, tokenizer.vocab_size()), [&tokenizer](int id) {
    return tokenizer.is_special(id) ? std::string_view() : tokenizer.bytes(id);
  });
}

GrammarMatcher::State VocabularyOrder::after(GrammarMatcher& matcher, GrammarMatcher::State state, int id) const {
  const std::string_view bytes = bytes_(id);
  GrammarMatcher::State spelled = bytes.empty() ? GrammarMatcher::kNone : state;
  for (std::size_t at = 0; at < bytes.size() && spelled != GrammarMatcher::kNone; ++at)
    spelled = matcher.after_byte(spelled, static_cast<unsigned char>(bytes[at]));
  return matcher.either(matcher.after_token(state, id), spelled);
}

}  // namespace sluice
