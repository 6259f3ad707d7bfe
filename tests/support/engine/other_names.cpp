// See other_names.h.
#include "support/engine/other_names.h"

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "models/registry.h"
#include "support/must.h"
#include "support/shard_by_hand.h"

namespace sluice::test {

void write_by_other_names(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::filesystem::create_directories(to);
  nlohmann::json config = nlohmann::json::parse(must(read_config(from.string())));
  config["num_nextn_predict_layers"] = 0;
  if (config.contains("compress_ratios")) {  // the last one is that of the head
    nlohmann::json& ratios = config.at("compress_ratios");
    ratios.erase(ratios.size() - 1);
  }
  std::ofstream(to / "config.json") << config;
  const auto model = must(read_model_config(config.dump(), "config.json"));
  const Census census = model->census({model->layers(), false});

  std::map<std::string, TensorSpec> others;  // fused ones once
  const auto add = [&](const TensorSpec& spec) {
    if (spec.alternatives.empty()) throw std::runtime_error(spec.name + " has one name only");
    others.emplace(spec.alternatives[0].name, spec.alternatives[0]);
  };
  add(census.embedding);
  for (const BlockSpec& step : census.walk)
    for (const TensorSpec& spec : step.tensors) add(spec);
  for (int layer = 0; layer < census.layers; ++layer)
    for (const TensorSpec& spec : census.expert(layer, 0).tensors) add(spec);

  std::vector<HandTensor> tensors;
  unsigned seed = 0;
  for (const auto& [name, spec] : others) {
    const auto rows = static_cast<std::uint64_t>(spec.shape.rows), cols = static_cast<std::uint64_t>(spec.shape.cols);
    const auto stacked = static_cast<std::uint64_t>(spec.stacked);
    std::vector<std::uint64_t> shape = {rows, cols};
    if (stacked > 1) shape = {stacked, rows / stacked, cols};
    tensors.push_back({name, "BF16", shape, hand_bytes(2 * rows * cols, ++seed)});
  }
  for (const IdTableSpec& table : census.id_tables) {
    const auto [rows, cols] = table.tensor.shape;
    tensors.push_back({table.tensor.alternatives.at(0).name,
                       "I64",
                       {static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(cols)},
                       std::string(8 * static_cast<std::size_t>(rows * cols), '\0')});
  }
  write_hand_shard(to / "model.safetensors", tensors);
}

}  // namespace sluice::test
