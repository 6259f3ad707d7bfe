// See relayout.h.
#include "support/relayout.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <vector>

#include "support/plain_safetensors.h"

namespace sluice::test {
namespace {

void copy_other_files(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::filesystem::create_directories(to);
  for (const auto& entry : std::filesystem::directory_iterator(from)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".safetensors" && name != "model.safetensors.index.json")
      std::filesystem::copy(entry.path(), to / name);
  }
}

}  // namespace

void relayout(const std::filesystem::path& from, const std::filesystem::path& to, std::uint64_t seed) {
  copy_other_files(from, to);
  std::vector<PlainTensor> tensors;
  for (auto& [name, tensor] : read_plain_checkpoint(from)) tensors.push_back(tensor);
  std::mt19937_64 random(seed);
  std::shuffle(tensors.begin(), tensors.end(), random);

  nlohmann::json header;
  std::vector<std::uint64_t> begins;
  std::uint64_t end = 0;
  for (const PlainTensor& tensor : tensors) {
    end += 1 + random() % 61;
    begins.push_back(end);
    header[tensor.name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {end, end + tensor.bytes}}};
    end += tensor.bytes;
  }
  const std::string text = header.dump();  // not padded: the data begins at an odd place as well
  const std::uint64_t length = text.size();

  std::ofstream out(to / "model-00001-of-000001.safetensors", std::ios::binary);
  out.write(reinterpret_cast<const char*>(&length), sizeof length)
      .write(text.data(), static_cast<std::streamsize>(length));
  std::uint64_t at = 0;
  for (std::size_t index = 0; index < tensors.size(); ++index) {
    for (; at < begins[index]; ++at) out.put('\xEE');
    const std::vector<std::byte> bytes = read_plain_bytes(tensors[index]);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    at += bytes.size();
  }
  if (!out.flush()) throw std::runtime_error(to.string() + ": cannot write");
}

}  // namespace sluice::test
