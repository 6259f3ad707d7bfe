// See synth_shard.h.
#include "models/common/synth_shard.h"

#include <cmath>
#include <utility>

#include "formats/fp8_block.h"

namespace sluice {

void SynthShard::matrix(const std::string& name, int rows, int cols, double gain) {
  add(name + ".weight", Dtype::bf16, {rows, cols}, {ValueKind::around_zero, gain / std::sqrt(cols)});
}

void SynthShard::linear(const std::string& name, int rows, int cols, double gain) {
  if (!fp8_) return matrix(name, rows, cols, gain);
  const auto blocks = [](int size) { return (size + kFp8Block - 1) / kFp8Block; };
  const double scale = gain / (kE4m3Rms * std::sqrt(cols));
  add(name + ".weight", Dtype::f8_e4m3, {rows, cols}, {ValueKind::e4m3_codes});
  add(name + ".weight_scale_inv", Dtype::f32, {blocks(rows), blocks(cols)},
      {ValueKind::between, 0.75 * scale, 1.25 * scale});
}

void SynthShard::norm(const std::string& name, int width, Dtype type) {
  add(name + ".weight", type, {width}, {ValueKind::near_one});
}

void SynthShard::packed(const std::string& name, int rows, int cols, double gain) {
  add(name + ".weight_packed", Dtype::u8, {rows, cols / 2}, {ValueKind::e2m1_codes});
  add(name + ".weight_scale", Dtype::u8, {rows, cols / 32},
      {ValueKind::e8m0_near, gain / (kE2m1Rms * std::sqrt(cols))});
}

void SynthShard::gated(const std::string& name, int width, int inner, const Gains& gains) {
  linear(name + "gate_proj", inner, width, gains.gate);
  linear(name + "up_proj", inner, width, gains.up);
  linear(name + "down_proj", width, inner, gains.down);
}

void SynthShard::add(const std::string& name, Dtype type, std::initializer_list<int> shape, ValueRule values) {
  StoredTensor stored{prefix_ + name, type, {}};
  for (const int extent : shape) stored.shape.push_back(static_cast<std::uint64_t>(extent));
  out_.push_back({std::move(stored), values});
}

}  // namespace sluice
