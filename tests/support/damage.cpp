// See damage.h.
#include "support/damage.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "support/plain_safetensors.h"

namespace sluice::test {

void copy_checkpoint(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
}

std::vector<std::filesystem::path> shards_of(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> shards;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (entry.path().extension() == ".safetensors") shards.push_back(entry.path());
  std::sort(shards.begin(), shards.end());
  return shards;
}

void cut_tail(const std::filesystem::path& file, std::uint64_t bytes) {
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - bytes);
}

void overwrite(const std::filesystem::path& file, std::uint64_t offset, const std::string& bytes) {
  if (offset + bytes.size() > std::filesystem::file_size(file)) throw std::runtime_error("outside " + file.string());
  std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
  stream.seekp(static_cast<std::streamoff>(offset));
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!stream.flush()) throw std::runtime_error(file.string() + ": cannot write");
}

void flip_byte(const std::filesystem::path& file, std::uint64_t offset) {
  std::ifstream in(file, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(offset));
  const int old = in.get();
  if (old < 0) throw std::runtime_error("outside " + file.string());
  overwrite(file, offset, std::string(1, static_cast<char>(~old)));
}

void edit_config(const std::filesystem::path& directory, FunctionRef<void(nlohmann::json& config)> edit) {
  std::ifstream in(directory / "config.json");
  nlohmann::json config = nlohmann::json::parse(in);
  edit(config);
  std::ofstream out(directory / "config.json");
  if (!(out << config.dump(1)).flush()) throw std::runtime_error("cannot write the config");
}

void set_tensor_byte(const std::filesystem::path& directory, const std::string& tensor, std::uint64_t offset,
                     std::uint8_t value) {
  const PlainTensor found = read_plain_checkpoint(directory).at(tensor);
  if (offset >= found.bytes) throw std::runtime_error("outside " + tensor);
  overwrite(found.file, found.offset + offset, std::string(1, static_cast<char>(value)));
}

}  // namespace sluice::test
