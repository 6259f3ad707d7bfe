// The choice of keys that sparse attention may see: the lightning indexer's scores, and the best of them.
//
// Scores: docs/numerics.md, "indexer score". A position that is not scored because everything visible fits leaves the
// choice empty: then attention is dense, and bit for bit the same as with a choice of everything.
#pragma once

#include <span>
#include <vector>

namespace sluice {

// The positions of the `count` largest scores, appended to `positions` in rising order. Ties go to the lower position;
// NaN loses to every number. Requires: 1 <= count <= scores.size(). `ranks` is scratch that callers keep, because this
// is asked for every row of every layer with an indexer.
void choose_largest(std::span<const float> scores, int count, std::vector<float>& ranks, std::vector<int>& positions);

}  // namespace sluice
