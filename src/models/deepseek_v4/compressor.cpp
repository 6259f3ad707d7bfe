// See compressor.h.
#include "models/deepseek_v4/compressor.h"

#include <algorithm>

#include "formats/format.h"
#include "models/common/append_rows.h"

namespace sluice::deepseek_v4 {

Compressor::Compressor(const V4Config& config, For whom, const RopeAngles& angles, Workspace& work, int rows)
    : config_(config),
      whom_(whom),
      width_(whom == For::attention ? config.head_dim : config.index_head_dim),
      angles_(angles),
      rows_(work.rows(rows, 4 * width_)),
      ape_(work.rows(1, 2 * width_)),
      pooled_(work.rows(rows, width_)),
      rotation_(rotation_rows(config, work, rows)) {}

void Compressor::run(Pass& pass, int layer, const CompressorWeights& w, const CompressorLogs& logs) {
  project(pass, layer, w, logs.partial);
  const int ratio = config_.ratio(layer);
  values_.clear();
  gates_.clear();
  begin_.assign(1, 0);
  const auto each_closed = [&](auto&& visit) {  // windows that rows of this pass close, in order
    int place = 0;
    for (const Segment& segment : pass.segments)
      for (int window = segment.state->length() / ratio; window < (segment.state->length() + segment.rows) / ratio;
           ++window)
        visit(segment, window, place++);
  };
  each_closed([&](const Segment& segment, int window, int place) {
    gather(segment.state->log(logs.partial), layer, window);
    fill(angles_, window * ratio, rotation_.slice(place, 1));
  });
  const int closed = static_cast<int>(begin_.size()) - 1;
  if (closed == 0) return;
  const Rows entries = pooled_.slice(0, closed);
  pass.ops.pool({values_, gates_, begin_, entries});
  pass.rounding.tensor(entries);
  pass.ops.rms_norm(entries, w.norm, config_.rms_norm_eps, entries);
  pass.rounding.tensor(entries);
  turn(pass.ops, entries, width_, rotation_.slice(0, closed));
  pass.rounding.tensor(entries);
  if (whom_ == For::attention)
    pass.rounding.key(entries, config_.qk_rope_head_dim);
  else
    pass.rounding.index(entries, width_);
  each_closed([&](const Segment& segment, int window, int place) {
    segment.state->log(logs.entries).put(window, entries[place]);
  });
}

// Rows [values | gates] of this pass into the log.
void Compressor::project(Pass& pass, int layer, const CompressorWeights& w, int log) {
  const int ratio = config_.ratio(layer), cols = config_.compressor_rows(layer, width_);
  const Rows rows = rows_.slice(0, pass.rows()).columns(0, 2 * cols), gates = rows.columns(cols, cols);
  const Product products[] = {{w.wkv, pass.x, rows.columns(0, cols)}, {w.wgate, pass.x, gates}};
  pass.ops.matmul(products);
  const Rows ape = ape_.columns(0, cols);
  for (const Segment& segment : pass.segments)
    for (int row = 0; row < segment.rows; ++row) {
      format(w.ape.format).decode_row(w.ape, (segment.state->length() + row) % ratio, ape[0]);
      pass.ops.add(ape, gates.slice(segment.first_row + row, 1));
    }
  append_rows(pass.segments, log, rows);
}

// The slots of a window, oldest first.
void Compressor::gather(RowLog& partial, int layer, int window) {
  const int ratio = config_.ratio(layer), cols = config_.compressor_rows(layer, width_);
  const auto add = [&](int row, int column) {
    values_.push_back(partial.row(row).data() + column);
    gates_.push_back(partial.row(row).data() + cols + column);
  };
  const bool overlaps = config_.has_indexer(layer);
  for (int row = window * ratio - ratio; overlaps && window > 0 && row < window * ratio; ++row) add(row, 0);
  for (int row = window * ratio; row < (window + 1) * ratio; ++row) add(row, overlaps ? width_ : 0);
  begin_.push_back(static_cast<int>(values_.size()));
}

}  // namespace sluice::deepseek_v4
