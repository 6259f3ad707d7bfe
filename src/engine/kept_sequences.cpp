// See kept_sequences.h.
#include "engine/kept_sequences.h"

#include <algorithm>

namespace sluice {

// A head's row knows the token behind its own, so it is no use where that one differs.
int KeptSequence::usable(std::span<const int> text) const {
  if (state == nullptr || state->broken() || text.empty()) return 0;
  const auto parts = std::ranges::mismatch(tokens, text).in1 - tokens.begin();
  int most = std::min({static_cast<int>(parts), static_cast<int>(text.size()) - 1, state->length()});
  if (head != nullptr) most = std::min({most, static_cast<int>(parts) - 1, head->length()});
  return most <= 0 ? 0 : state->reachable(most);
}

std::uint64_t KeptSequence::bytes() const {
  return (state != nullptr ? state->bytes() : 0) + (head != nullptr ? head->bytes() : 0);
}

std::uint64_t KeptSequences::bytes() const {
  std::uint64_t bytes = 0;
  for (const KeptSequence& conversation : kept_) bytes += conversation.bytes();
  return bytes;
}

KeptSequence KeptSequences::take(std::span<const int> prompt, std::uint64_t in_use) {
  const auto best = std::ranges::max_element(kept_, {}, [&](const KeptSequence& kept) { return kept.usable(prompt); });
  const int usable = best == kept_.end() ? 0 : best->usable(prompt);
  if (usable == 0) return {};
  KeptSequence taken;
  const int length = best->state->length();
  if (usable < length && in_use + bytes() <= room_) {
    taken = {best->prompt, best->tokens, best->state->fork(), best->head ? best->head->fork() : nullptr};
    kept_.splice(kept_.begin(), kept_, best);
  } else if (2 * usable < length) {
    return {};  // most of it would be lost for little
  } else {
    taken = std::move(*best);
    kept_.erase(best);
  }
  taken.state->rollback(usable);
  if (taken.head != nullptr && !taken.head->rollback(usable)) taken.head = nullptr;
  taken.tokens.resize(static_cast<std::size_t>(usable));
  return taken;
}

void KeptSequences::keep(KeptSequence conversation, std::uint64_t in_use) {
  if (conversation.state == nullptr || conversation.state->broken() || conversation.state->length() == 0) return;
  conversation.state->trim();
  kept_.push_front(std::move(conversation));
  make_room(in_use);
}

bool KeptSequences::make_room(std::uint64_t in_use) {
  std::uint64_t kept = bytes();
  while (!kept_.empty() && in_use + kept > room_) {
    kept -= kept_.back().bytes();
    kept_.pop_back();
  }
  return in_use + kept <= room_;
}

}  // namespace sluice
