// See synth_shard.h.
#include "models/common/synth_shard.h"

#include <cmath>
#include <utility>

namespace sluice {

void SynthShard::matrix(const std::string& name, int rows, int cols, double gain) {
  add(name + ".weight", StoredType::bf16, {rows, cols}, {ValueKind::around_zero, gain / std::sqrt(cols)});
}

void SynthShard::norm(const std::string& name, int width, StoredType type) {
  add(name + ".weight", type, {width}, {ValueKind::near_one});
}

void SynthShard::packed(const std::string& name, int rows, int cols, double gain) {
  add(name + ".weight_packed", StoredType::u8, {rows, cols / 2}, {ValueKind::e2m1_codes});
  add(name + ".weight_scale", StoredType::u8, {rows, cols / 32},
      {ValueKind::e8m0_near, gain / (kE2m1Rms * std::sqrt(cols))});
}

void SynthShard::gated(const std::string& name, int width, int inner, const Gains& gains) {
  matrix(name + "gate_proj", inner, width, gains.gate);
  matrix(name + "up_proj", inner, width, gains.up);
  matrix(name + "down_proj", width, inner, gains.down);
}

void SynthShard::add(const std::string& name, StoredType type, std::initializer_list<int> shape, ValueRule values) {
  StoredTensor stored{prefix_ + name, type, {}};
  for (const int extent : shape) stored.shape.push_back(static_cast<std::uint64_t>(extent));
  out_.push_back({std::move(stored), values});
}

}  // namespace sluice
