// The lightning indexer: scores all earlier positions with small heads of its own and keeps the best (spec 3.5).
//
// Its keys are remembered from the first token on, although nobody asks for them while everything visible fits: the
// first token that must choose needs all of them.
#pragma once

#include "models/glm_dsa/census.h"
#include "models/glm_dsa/parts.h"

namespace sluice::glm_dsa {

class Indexer {
 public:
  Indexer(const GlmConfig& config, Workspace& work, int rows, WideRows& wide);

  // Bytes of the lists that a pass over at most `rows` rows fills: choices, and scores with their ranks.
  static std::uint64_t list_bytes(const GlmConfig& config, int rows);

  // Remembers the keys of the rows and leaves the rows' choice in pass.choice. q_latent: normed.
  void run(Pass& pass, int layer, int log, const Lease& w, Rows q_latent);

 private:
  void project(Pass& pass, int log, const Lease& w, Rows q_latent);

  const GlmConfig& config_;
  Rows query_, key_, weights_;
  KeyChooser chooser_;
};

}  // namespace sluice::glm_dsa
