// See synth_family.h.
#include "models/common/synth_family.h"

#include "models/common/synth_shard.h"

namespace sluice {

nlohmann::ordered_json synth_mark(const SynthOptions& options) {
  // `draws` counts changes of the rules for values.
  return {{"scale", options.scale == SynthScale::tiny ? "tiny" : "full"}, {"seed", options.seed}, {"draws", 1}};
}

SynthCheckpoint synth_with_configs(const nlohmann::ordered_json& config, const nlohmann::ordered_json& generation,
                                   const SynthOptions& options) {
  SynthCheckpoint checkpoint;
  checkpoint.texts.push_back({"generation_config.json", generation.dump(2) + "\n"});
  checkpoint.config = config.dump(2) + "\n";
  checkpoint.seed = options.seed;
  return checkpoint;
}

std::vector<SynthTensor> synth_globals(int vocab, int hidden) {
  std::vector<SynthTensor> tensors;
  SynthShard model(tensors, "model.");
  model.add("embed_tokens.weight", Dtype::bf16, {vocab, hidden}, {ValueKind::around_zero, 1});
  model.norm("norm", hidden);
  SynthShard(tensors, "").matrix("lm_head", vocab, hidden, 4);
  return tensors;
}

}  // namespace sluice
