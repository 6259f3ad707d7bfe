// A second, plain reader of safetensors directories, so that tests never ask the code under test what is on disk.
// Shares no code with src/checkpoint. Throws on anything unexpected (tests may).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace sluice::test {

struct PlainTensor {
  std::string name, dtype;
  std::vector<std::uint64_t> shape;
  std::filesystem::path file;
  std::uint64_t offset = 0, bytes = 0;  // in the file
};

// Every *.safetensors of a directory, by tensor name.
std::map<std::string, PlainTensor> read_plain_checkpoint(const std::filesystem::path& directory);
// One file, in the order of its data.
std::vector<PlainTensor> read_plain_file(const std::filesystem::path& file);
std::vector<std::byte> read_plain_bytes(const PlainTensor& tensor);

}  // namespace sluice::test
