// The attention half of a layer (spec 3.5): queries over the last keys of a window and over compressed entries, where
// one vector a position is key and value of all heads.
//
//   qr = rms(wq_a x), q_h = rope(q_h / rms(q_h)) of wq_b qr;  kv = rope(rms(wkv x)) into the window
//   o_h = rope⁻¹(softmax over window, entries and a sink): values carry the rotation of their key, the query's undoes
//   it out = wo_b [wo_a,g · (heads of group g)]
#pragma once

#include "models/deepseek_v4/hyper_connections.h"
#include "models/deepseek_v4/indexer.h"

namespace sluice::deepseek_v4 {

class Attention {
 public:
  Attention(const V4Config& config, Rounding rounding, const RopeAngles& compressed, Workspace& work, int rows);

  // Reads pass.streams, appends to the logs of all segments and joins the result to pass.streams.
  Result<> run(Pass& pass, int layer, const LogPlaces& logs, const LayerSteps& steps, HyperConnections& streams);

 private:
  Result<> project(Pass& pass, const Rotation& rotation, int log, const LayerSteps& steps, HyperConnections& streams);
  void norm_heads(Pass& pass, Rows q);
  Result<> compress_rows(Pass& pass, int layer, const LogPlaces& logs, const LayerSteps& steps);
  void attend(Pass& pass, int layer, const LogPlaces& logs);
  Result<> put_out(Pass& pass, const LayerSteps& steps);

  const V4Config& config_;
  Rows q_low_, q_, kv_, out_, grouped_, ones_, sinks_;
  WideRows wide_;
  Compressor compressor_;
  Indexer indexer_;
  std::vector<int> entries_;  // visible to each row of a segment
  std::vector<Product> products_;
};

}  // namespace sluice::deepseek_v4
