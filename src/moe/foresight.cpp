// See foresight.h.
#include "moe/foresight.h"

#include <algorithm>

#include "base/check.h"

namespace sluice {

void Foresight::begin(const ExpertsForeseen& told) {
  told_ = told ? &told : nullptr;
  noted_ = 0;
}

void Foresight::note(Rows stream, int mark) {
  if (told_ == nullptr) return;
  ++noted_;
  Note& note = back(0);
  note.floats.resize(static_cast<std::size_t>(stream.rows) * static_cast<std::size_t>(stream.width));
  note.stream = {note.floats.data(), stream.rows, stream.width, stream.width};
  note.mark = mark;
  for (int row = 0; row < stream.rows; ++row) std::ranges::copy(stream[row], note.stream[row].begin());
}

void Foresight::ask(Ops& ops, int layer, FunctionRef<RouterScores(Rows, int)> router) {
  if (told_ == nullptr) return;
  SLUICE_CHECK(noted_ >= 2);
  for (const AskedBefore when : kAskedBefore) {
    const int halves = when == AskedBefore::attention ? 1 : 2;
    if (noted_ <= halves) continue;  // there is no layer before the first
    const Note& then = back(halves);
    const RouterScores scores = router(then.stream, then.mark);
    (*told_)(layer, when, rank_experts(ops, scores, 2 * scores.rule.top_k));
  }
}

}  // namespace sluice
