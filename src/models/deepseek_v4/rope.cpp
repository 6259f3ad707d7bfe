// See rope.h.
#include "models/deepseek_v4/rope.h"

namespace sluice::deepseek_v4 {

RopeAngles plain_angles(const V4Config& config) {
  return {static_cast<double>(config.rope_theta), config.qk_rope_head_dim};
}

RopeAngles compressed_angles(const V4Config& config) {
  if (config.compress_rope_theta == 0) return plain_angles(config);  // no layer compresses
  return RopeAngles(
      yarn_frequencies(config.yarn, static_cast<double>(config.compress_rope_theta), config.qk_rope_head_dim));
}

Rotation rotation_rows(const V4Config& config, Workspace& work, int rows) {
  const int pairs = config.qk_rope_head_dim / 2;
  return {work.rows(rows, pairs), work.rows(rows, pairs), work.rows(rows, pairs)};
}

void fill(const RopeAngles& angles, int first, const Rotation& rotation) {
  angles.fill(first, rotation.cos, rotation.sin);
  for (int row = 0; row < rotation.sin.rows; ++row)
    for (std::size_t pair = 0; pair < rotation.sin[row].size(); ++pair)
      rotation.minus_sin[row][pair] = -rotation.sin[row][pair];
}

void turn(Ops& ops, Rows x, int head_width, const Rotation& rotation) {
  ops.rope({x, head_width, head_width - 2 * rotation.cos.width, RopeLayout::interleaved, rotation.cos, rotation.sin});
}

void turn_back(Ops& ops, Rows x, int head_width, const Rotation& rotation) {
  ops.rope(
      {x, head_width, head_width - 2 * rotation.cos.width, RopeLayout::interleaved, rotation.cos, rotation.minus_sin});
}

}  // namespace sluice::deepseek_v4
