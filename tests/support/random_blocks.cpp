// See random_blocks.h.
#include "support/random_blocks.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "formats/format.h"

namespace sluice::test {

namespace {

using Random = std::mt19937_64;

// Adds a tensor of random shape to the block; its places on disk are chosen later.
void add_tensor(ScatteredBlock& block, std::uint64_t largest_tensor, Random& random) {
  constexpr FormatId kIds[] = {FormatId::bf16, FormatId::mxfp4, FormatId::fp8_e8m0};
  const FormatId id = kIds[random() % 3];
  const Format& stored = format(id);
  const int cols = 32 * static_cast<int>(1 + random() % 8);
  const std::uint64_t most_rows = std::max<std::uint64_t>(1, largest_tensor / stored.row_weight_bytes(cols));
  const Shape shape{static_cast<int>(1 + random() % most_rows), cols};
  ScatteredTensor tensor;
  tensor.weights.bytes = stored.weight_bytes(shape);
  tensor.scales.bytes = stored.scale_bytes(shape);
  block.spec.tensors.push_back({block.spec.label + " tensor " + std::to_string(block.tensors.size()), shape});
  block.layout.tensors.push_back({id, shape});
  block.layout.payload_bytes += tensor.weights.bytes + tensor.scales.bytes;
  block.tensors.push_back(tensor);
}

// Room for a run that shares no page with the extent before it.
std::uint64_t add_extent(BlockLayout& layout, const RunOnDisk& run) {
  const std::uint64_t slot_offset = layout.slot_bytes + run.offset % kDiskPage;
  layout.extents.push_back({run.file, run.offset, run.bytes, slot_offset});
  layout.slot_bytes = page_ceil(slot_offset + run.bytes);
  return slot_offset;
}

void place(ScatteredBlock& block) {
  for (std::size_t index = 0; index < block.tensors.size(); ++index) {
    const ScatteredTensor& tensor = block.tensors[index];
    Placement& placement = block.layout.tensors[index];
    const RunOnDisk &weights = tensor.weights, &scales = tensor.scales;
    if (scales.bytes > 0 && scales.file == weights.file && scales.offset == weights.offset + weights.bytes) {
      placement.weights = add_extent(block.layout, {weights.file, weights.offset, weights.bytes + scales.bytes});
      placement.scales = placement.weights + weights.bytes;
      continue;
    }
    placement.weights = add_extent(block.layout, weights);
    if (scales.bytes > 0) placement.scales = add_extent(block.layout, scales);
  }
}

}  // namespace

std::vector<ScatteredBlock> scatter_blocks(MemoryFiles& files, int count, std::uint64_t largest_tensor,
                                           std::uint64_t seed) {
  Random random(seed);
  std::vector<ScatteredBlock> blocks(static_cast<std::size_t>(count));
  std::vector<std::vector<RunOnDisk*>> runs;  // that stay adjacent
  for (std::size_t index = 0; index < blocks.size(); ++index) {
    blocks[index].spec.label = "block " + std::to_string(index);
    for (std::uint64_t tensors = 1 + random() % 4; tensors > 0; --tensors)
      add_tensor(blocks[index], largest_tensor, random);
    for (ScatteredTensor& tensor : blocks[index].tensors) {
      runs.push_back({&tensor.weights});
      if (random() % 2) runs.emplace_back();
      runs.back().push_back(&tensor.scales);
    }
  }
  std::shuffle(runs.begin(), runs.end(), random);
  const int first_file = files.count();
  std::vector<std::byte> contents[2];
  for (const auto& group : runs) {
    const int file = static_cast<int>(random() % 2);
    std::vector<std::byte>& bytes = contents[file];
    bytes.resize(bytes.size() + random() % 5000);
    for (RunOnDisk* run : group) {
      run->file = first_file + file;
      run->offset = bytes.size();
      bytes.resize(bytes.size() + run->bytes);
    }
  }
  for (std::vector<std::byte>& bytes : contents) {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 253);  // sound as scales, too
    files.add(std::move(bytes));
  }
  for (ScatteredBlock& block : blocks) place(block);
  return blocks;
}

ExpertTable table_of(const std::vector<ScatteredBlock>& blocks, int layers, int experts) {
  ExpertTable table(layers, experts);
  for (int layer = 0; layer < layers; ++layer)
    for (int expert = 0; expert < experts; ++expert)
      table.set(layer, expert, blocks[static_cast<std::size_t>(layer * experts + expert)].layout);
  return table;
}

bool shows(const Lease& lease, const ScatteredBlock& block, MemoryFiles& files) {
  for (std::size_t index = 0; index < block.tensors.size(); ++index) {
    const ScatteredTensor& tensor = block.tensors[index];
    const WeightView view = lease[static_cast<int>(index)];
    const auto same = [&](const std::byte* seen, const RunOnDisk& run) {
      return std::memcmp(seen, files.bytes(run.file).data() + run.offset, run.bytes) == 0;
    };
    if (view.shape != block.spec.tensors[index].shape || !same(view.weights, tensor.weights)) return false;
    if (tensor.scales.bytes > 0 && !same(view.scales, tensor.scales)) return false;
  }
  return true;
}

}  // namespace sluice::test
