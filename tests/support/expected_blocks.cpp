// See expected_blocks.h.
#include "support/expected_blocks.h"

#include <cstring>

namespace sluice::test {
namespace {

std::vector<std::byte> held_rows(const PlainTensor& tensor, const TensorSpec& spec) {
  const std::vector<std::byte> all = read_plain_bytes(tensor);
  const auto row = static_cast<std::ptrdiff_t>(all.size()) / spec.shape.rows;
  const auto first = all.begin() + row * spec.first_row;
  return {first, first + row * spec.held().rows};
}

}  // namespace

ExpectedBlock expected_block(const std::map<std::string, PlainTensor>& checkpoint, const BlockSpec& spec) {
  ExpectedBlock block;
  for (const TensorSpec& tensor : spec.tensors) {
    const auto plain = checkpoint.find(tensor.name);
    if (plain != checkpoint.end())
      block.push_back({held_rows(plain->second, tensor), {}});
    else
      block.push_back({held_rows(checkpoint.at(tensor.name + "_packed"), tensor),
                       held_rows(checkpoint.at(tensor.name + "_scale"), tensor)});
  }
  return block;
}

std::string difference(const ExpectedTensor& expected, const WeightView& view) {
  if (view.weights == nullptr || expected.scales.empty() != (view.scales == nullptr)) return "not placed";
  if (std::memcmp(view.weights, expected.weights.data(), expected.weights.size()) != 0) return "weights differ";
  if (!expected.scales.empty() && std::memcmp(view.scales, expected.scales.data(), expected.scales.size()) != 0)
    return "scales differ";
  return {};
}

}  // namespace sluice::test
