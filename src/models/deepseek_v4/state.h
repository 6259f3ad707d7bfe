// What a sequence remembers of each layer, as logs of its state (spec section 4).
//
//   window          [head_dim] a token, the last sliding_window of them: keys that are values too
//   partial         [values | gates] a token, ape added: the rows that the open window and its predecessor still need
//   entries         [head_dim] a window: the compressed list
//   index partial   and index entries: the same of the indexer's compressor, [index_head_dim] an entry
// All are functions of position, so any number of pending tokens may be forgotten, in the middle of a window too.
#pragma once

#include <vector>

#include "models/deepseek_v4/parts.h"

namespace sluice::deepseek_v4 {

// Rows that logs keep beyond what the next token needs, so that a few tokens can be taken back by length alone.
inline constexpr int kSpareRows = 8;

struct StateLogs {
  std::vector<LogPlaces> layers;
  StateShape shape;
};
// Of layers 0 .. layers - 1.
StateLogs state_logs(const V4Config& config, int layers);
// Of the MTP block, which has a window and nothing else.
StateShape draft_state_shape(const V4Config& config);

}  // namespace sluice::deepseek_v4
