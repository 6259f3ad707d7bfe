// See hash_checkpoint.h.
#include "support/hash_checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "checkpoint/safetensors_writer.h"
#include "support/golden_vector.h"
#include "support/must.h"

namespace sluice::test {

std::vector<float> HashTensor::values() const {
  const std::uint64_t hash = fnv1a64(std::as_bytes(std::span(name)));
  std::uint64_t count = 1;
  for (std::uint64_t extent : shape) count *= extent;
  std::vector<float> made(count);
  for (std::uint64_t index = 0; index < count; ++index) {
    const double u = static_cast<double>(golden_word(hash, index) >> 40) / (1 << 24);
    made[index] = static_cast<float>((2 * u - 1) * a + b);
  }
  return made;
}

void expect_tensors_of(const nlohmann::json& vector, const std::vector<std::vector<HashTensor>>& shards) {
  std::map<std::string, HashTensor> by_name;
  std::size_t parameters = 0;
  for (const std::vector<HashTensor>& shard : shards)
    for (const HashTensor& tensor : shard) {
      by_name.emplace(tensor.name, tensor);
      parameters += tensor.values().size();
    }
  EXPECT_EQ(by_name.size(), vector.at("n_tensors").get<std::size_t>());
  EXPECT_EQ(parameters, vector.at("n_parameters").get<std::size_t>());
  for (const auto& [name, check] : vector.at("tensor_checks").items()) {
    SCOPED_TRACE(name);
    const HashTensor& tensor = by_name.at(name);
    EXPECT_EQ(tensor.shape, check.at("shape").get<std::vector<std::uint64_t>>());
    if (check.contains("h")) {
      EXPECT_EQ(fnv1a64(std::as_bytes(std::span(name))), std::stoull(check.at("h").get<std::string>(), nullptr, 16));
    }
    const std::vector<float> values = tensor.values();
    double sum = 0;
    for (float value : values) sum += static_cast<double>(value);
    EXPECT_NEAR(sum, check.at("sum").get<double>(), 1e-10);
    for (std::size_t place = 0; place < 3; ++place)
      EXPECT_NEAR(values[place], check.at("first3")[place].get<double>(), 1e-12);
  }
}

void write_hash_checkpoint(const std::filesystem::path& directory, const std::vector<std::vector<HashTensor>>& shards,
                           const nlohmann::json& config) {
  std::filesystem::create_directories(directory);
  std::map<std::string, std::vector<float>> values;
  std::map<std::string, std::vector<std::int64_t>> ids;
  std::vector<SafetensorsLayout> layouts;
  for (const std::vector<HashTensor>& shard : shards) {
    std::vector<StoredTensor> stored;
    for (const HashTensor& tensor : shard) {
      stored.push_back({tensor.name, tensor.ids.empty() ? Dtype::f32 : Dtype::i64, tensor.shape});
      if (tensor.ids.empty())
        values.emplace(tensor.name, tensor.values());
      else
        ids.emplace(tensor.name, tensor.ids);
    }
    layouts.push_back(must(lay_out_safetensors(std::move(stored))));
  }
  const int count = static_cast<int>(layouts.size());
  for (int shard = 0; shard < count; ++shard) {
    const SafetensorsLayout& layout = layouts[static_cast<std::size_t>(shard)];
    const auto fill = [&](std::size_t tensor, std::uint64_t offset, std::span<std::byte> piece) -> Result<> {
      const std::string& name = layout.tensors[tensor].name;
      const auto table = ids.find(name);
      const auto bytes =
          table != ids.end() ? std::as_bytes(std::span(table->second)) : std::as_bytes(std::span(values.at(name)));
      std::ranges::copy(bytes.subspan(offset, piece.size()), piece.begin());
      return {};
    };
    must(write_safetensors((directory / shard_name(shard + 1, count)).string(), layout, fill, {1, Durability::cached}));
  }
  must(write_safetensors_index(directory.string(), layouts));
  must(write_text_file((directory / "config.json").string(), config.dump(1)));
}

}  // namespace sluice::test
