// See shard_by_hand.h.
#include "support/shard_by_hand.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>

#include "base/check.h"

namespace sluice::test {

std::string hand_header(const std::vector<HandTensor>& tensors) {
  std::string text = "{";
  std::size_t offset = 0;
  for (const HandTensor& tensor : tensors) {
    text += fmt::format(R"({}"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", offset == 0 ? "" : ",",
                        tensor.name, tensor.dtype, fmt::join(tensor.shape, ","), offset, offset + tensor.data.size());
    offset += tensor.data.size();
  }
  return text + "}";
}

std::string hand_data(const std::vector<HandTensor>& tensors) {
  std::string data;
  for (const HandTensor& tensor : tensors) data += tensor.data;
  return data;
}

void write_hand_shard(const std::filesystem::path& path, const std::string& header, const std::string& data) {
  std::ofstream file(path, std::ios::binary);
  for (std::uint64_t length = header.size(), byte = 0; byte < 8; ++byte)
    file.put(static_cast<char>(length >> (8 * byte) & 0xff));
  file << header << data;
  SLUICE_CHECK(file.good());
}

void write_hand_shard(const std::filesystem::path& path, const std::vector<HandTensor>& tensors) {
  write_hand_shard(path, hand_header(tensors), hand_data(tensors));
}

std::string hand_bytes(std::size_t count, unsigned seed) {
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>((seed = seed * 1103515245u + 12345u) >> 24);
  return bytes;
}

}  // namespace sluice::test
