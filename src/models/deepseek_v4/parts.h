// What every sub-layer of the forward pass works with.
#pragma once

#include "compute/ops.h"
#include "models/common/key_choice.h"
#include "models/deepseek_v4/census.h"
#include "models/deepseek_v4/config.h"
#include "models/deepseek_v4/rounding.h"
#include "models/model.h"

namespace sluice::deepseek_v4 {

// Rotary positions of rows: angles of one of the two tables (spec 3.4). -sin turns back.
struct Rotation {
  Rows cos, sin, minus_sin;  // [rows, pairs]

  Rotation slice(int first, int count) const {
    return {cos.slice(first, count), sin.slice(first, count), minus_sin.slice(first, count)};
  }
};

// Who is told what a pass does; see ForwardBatch.
struct Observers {
  const std::function<void(int, const Routes&)>& routed;
  const ExpertsForeseen& foreseen;
  const KeysChosen& keys_chosen;
};

// One pass over the rows of a batch. A sub-layer reads x [rows, hidden], normed, and leaves its result in output.
struct Pass {
  Ops& ops;
  TrunkStore& trunk;
  std::span<const Segment> segments;
  std::span<const int> tokens;
  Rows streams;  // [rows, hc_mult * hidden], stream after stream, without gaps between rows
  Rows x, output;
  Rotation plain, compressed;  // of layers that do not compress, of those that do
  KeyChoice& choice;           // entries of the layer's compressed list, if it has to choose
  int offset;                  // positions between what the states hold and the first row: drafts before it
  Observers observers;
  Foresight& foresight;
  Rounding rounding;

  int rows() const { return x.rows; }
  int position(const Segment& segment) const { return segment.state->length() + offset; }  // of its first row
};

// Logs of a sequence's state (state.h); -1: there is none.
struct LogPlaces {
  int window = 0;
  int partial = -1, entries = -1;              // of the compressor
  int index_partial = -1, index_entries = -1;  // of the indexer's
};

}  // namespace sluice::deepseek_v4
