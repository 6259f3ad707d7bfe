// See plain_safetensors.h.
#include "support/plain_safetensors.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace sluice::test {
namespace {

std::vector<std::byte> read_range(const std::filesystem::path& file, std::uint64_t offset, std::uint64_t bytes) {
  std::ifstream in(file, std::ios::binary);
  std::vector<std::byte> out(bytes);
  in.seekg(static_cast<std::streamoff>(offset));
  in.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(bytes));
  if (!in && bytes > 0) throw std::runtime_error(file.string() + ": cannot read the range");
  return out;
}

}  // namespace

std::vector<PlainTensor> read_plain_file(const std::filesystem::path& file) {
  std::uint64_t length = 0;
  std::memcpy(&length, read_range(file, 0, 8).data(), 8);
  const std::vector<std::byte> text = read_range(file, 8, length);
  const auto* begin = reinterpret_cast<const char*>(text.data());
  const auto header = nlohmann::json::parse(begin, begin + text.size());
  std::vector<PlainTensor> tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    PlainTensor tensor{name, entry.at("dtype"), entry.at("shape"), file};
    const auto from = entry.at("data_offsets").at(0).get<std::uint64_t>();
    tensor.offset = 8 + length + from;
    tensor.bytes = entry.at("data_offsets").at(1).get<std::uint64_t>() - from;
    tensors.push_back(std::move(tensor));
  }
  std::sort(tensors.begin(), tensors.end(),
            [](const PlainTensor& a, const PlainTensor& b) { return a.offset < b.offset; });
  return tensors;
}

std::map<std::string, PlainTensor> read_plain_checkpoint(const std::filesystem::path& directory) {
  std::map<std::string, PlainTensor> all;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() != ".safetensors") continue;
    for (PlainTensor& tensor : read_plain_file(entry.path()))
      if (!all.emplace(tensor.name, tensor).second) throw std::runtime_error(tensor.name + " twice");
  }
  return all;
}

std::vector<std::byte> read_plain_bytes(const PlainTensor& tensor) {
  return read_range(tensor.file, tensor.offset, tensor.bytes);
}

}  // namespace sluice::test
