// What the tensors of a block must hold, read by name with the plain reader: the other side of every law about blocks.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/block.h"
#include "support/plain_safetensors.h"

namespace sluice::test {

struct ExpectedTensor {
  std::vector<std::byte> weights, scales;  // of the rows the block holds; scales are empty where there are none
};
using ExpectedBlock = std::vector<ExpectedTensor>;

ExpectedBlock expected_block(const std::map<std::string, PlainTensor>& checkpoint, const BlockSpec& spec);

// `at(tensor)` gives the view of each tensor. Empty if all bytes are as expected, else the tensor's number and what is
// wrong.
template <class At>
std::string difference(const ExpectedBlock& expected, At at);
std::string difference(const ExpectedTensor& expected, const WeightView& view);

template <class At>
std::string difference(const ExpectedBlock& expected, At at) {
  for (std::size_t tensor = 0; tensor < expected.size(); ++tensor)
    if (const std::string found = difference(expected[tensor], at(static_cast<int>(tensor))); !found.empty())
      return "tensor " + std::to_string(tensor) + ": " + found;
  return {};
}

}  // namespace sluice::test
