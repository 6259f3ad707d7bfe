// The lightning indexer of layers whose windows overlap: scores all entries with small heads and a compressor of its
// own, and keeps the best (spec 3.7).
//
// Its entries are made from the first token on, although nobody asks for them while everything visible fits: the first
// token that must choose needs all of them.
#pragma once

#include "models/deepseek_v4/compressor.h"

namespace sluice::deepseek_v4 {

class Indexer {
 public:
  Indexer(const V4Config& config, Rounding rounding, const RopeAngles& angles, Workspace& work, int rows,
          WideRows& wide);

  // Bytes of the lists that a pass over at most `rows` rows fills.
  static std::uint64_t list_bytes(const V4Config& config, int rows);

  // Remembers what the rows leave, and puts the rows' choice of entries into pass.choice. q_latent: normed, as the
  // matrices of queries meet it.
  void run(Pass& pass, int layer, const LogPlaces& logs, const Lease& w, Rows q_latent);

 private:
  const V4Config& config_;
  Compressor compressor_;
  Rows query_, weights_;
  KeyChooser chooser_;
};

}  // namespace sluice::deepseek_v4
