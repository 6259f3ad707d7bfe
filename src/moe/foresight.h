// What a layer's router would have said before its time: asked about the stream as it was half a layer earlier, and a
// whole one.
//
// A family notes its residual stream as each half of a layer begins (attention, then feed-forward), and where a router
// is at hand lets it be asked about the notes, through the same norm, gate, bias and groups, before the real question.
// So the answers cost no weights and no reads. For traces: nothing is read because of them (docs/cache_policy.md).
// Without a listener nothing is noted and nobody is asked. Owned and used by one thread.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "base/function_ref.h"
#include "moe/router.h"
#include "residency/asked_before.h"

namespace sluice {

// Told, before each choice of experts, whom the router would have named earlier: twice as many as it chooses, or all
// that there are.
using ExpertsForeseen = std::function<void(int layer, AskedBefore when, const ExpertRanking& named)>;

class Foresight {
 public:
  // Begins a pass. `told` outlives it; empty: nobody listens.
  void begin(const ExpertsForeseen& told);
  // The stream [rows, width] as half a layer begins, every half of every layer in order. `mark` comes back with it.
  void note(Rows stream, int mark = 0);
  // Within a feed-forward half, before the router chooses. `router` scores what it is given; rows lie without gaps.
  void ask(Ops& ops, int layer, FunctionRef<RouterScores(Rows stream, int mark)> router);

 private:
  struct Note {
    std::vector<float> floats;
    Rows stream;
    int mark = 0;
  };
  Note& back(int halves) { return notes_[static_cast<std::size_t>((noted_ - 1 - halves) % 3)]; }

  const ExpertsForeseen* told_ = nullptr;
  int noted_ = 0;
  std::array<Note, 3> notes_;  // of the last halves: the one that asks, and the two that it asks about
};

}  // namespace sluice
