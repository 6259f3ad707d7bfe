// Safetensors files put together byte by byte, wrong ones too: what a writer of good files cannot make.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice::test {

// An entry of a header, with the data it claims. Offsets follow each other in the order given.
struct HandTensor {
  std::string name, dtype;
  std::vector<std::uint64_t> shape;
  std::string data;
};

// The JSON of these tensors, and their data.
std::string hand_header(const std::vector<HandTensor>& tensors);
std::string hand_data(const std::vector<HandTensor>& tensors);

// Writes length, header and data, whatever they say.
void write_hand_shard(const std::filesystem::path& path, const std::string& header, const std::string& data);
void write_hand_shard(const std::filesystem::path& path, const std::vector<HandTensor>& tensors);

// `count` bytes that differ from tensor to tensor.
std::string hand_bytes(std::size_t count, unsigned seed);

}  // namespace sluice::test
