// The writer's promises: order and header of the released files, exact bytes whatever the threads, no half file.
#include "checkpoint/safetensors_writer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/temp_dir.h"

namespace sluice {
namespace {

std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Byte `offset` of a tensor, as these tests define it.
std::byte byte_of(const std::string& name, std::uint64_t offset) {
  return static_cast<std::byte>(offset * 131 + (offset >> 8) * 7 + name.size() * 17 +
                                static_cast<unsigned char>(name[0]));
}

Result<> write_patterned(const std::string& path, const SafetensorsLayout& layout, WriteOptions options = {}) {
  const auto fill = [&](std::size_t tensor, std::uint64_t offset, std::span<std::byte> piece) -> Result<> {
    for (std::size_t index = 0; index < piece.size(); ++index)
      piece[index] = byte_of(layout.tensors[tensor].name, offset + index);
    return {};
  };
  return write_safetensors(path, layout, fill, options);
}

TEST(SafetensorsWriter, OrdersByTypeThenNameBytewise) {
  const auto layout = lay_out_safetensors({{"b.1", Dtype::u8, {3}},
                                           {"b.10", Dtype::u8, {5}},
                                           {"b.2", Dtype::u8, {7}},
                                           {"Z", Dtype::bf16, {2, 3}},
                                           {"a", Dtype::bf16, {4}},
                                           {"z", Dtype::f32, {2, 1, 4}}});
  ASSERT_TRUE(layout.has_value());
  std::vector<std::string> names;
  for (const StoredTensor& tensor : layout->tensors) names.push_back(tensor.name);
  EXPECT_EQ(names, (std::vector<std::string>{"z", "Z", "a", "b.1", "b.10", "b.2"}));
  EXPECT_EQ(layout->payload_bytes(), 32u + 12 + 8 + 3 + 5 + 7);
}

TEST(SafetensorsWriter, WritesHeaderAndBytesExactly) {
  const test::TempDir dir;
  const auto layout = lay_out_safetensors({{"w", Dtype::bf16, {2, 3}}, {"norm \"q\"", Dtype::f32, {2}}});
  ASSERT_TRUE(layout.has_value());
  ASSERT_TRUE(write_patterned(dir / "x.safetensors", *layout).has_value());

  const std::string file = read_text(dir / "x.safetensors");
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  EXPECT_EQ(length % 8, 0u);
  const std::string header = file.substr(8, length);
  EXPECT_EQ(header.substr(0, header.find_last_not_of(' ') + 1),
            R"({"norm \"q\"":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
            R"("w":{"dtype":"BF16","shape":[2,3],"data_offsets":[8,20]}})");
  ASSERT_EQ(file.size(), 8 + length + 20);
  for (std::uint64_t index = 0; index < 8; ++index)
    EXPECT_EQ(static_cast<std::byte>(file[8 + length + index]), byte_of("norm \"q\"", index));
  for (std::uint64_t index = 0; index < 12; ++index)
    EXPECT_EQ(static_cast<std::byte>(file[16 + length + index]), byte_of("w", index));
}

// Tensors of odd sizes across several pieces: each byte must be the same for one thread and for many, through the page
// cache and past it (a synced file of this size is written directly).
TEST(SafetensorsWriter, ThreadsDoNotChangeTheFile) {
  const test::TempDir dir;
  std::vector<StoredTensor> tensors{{"f", Dtype::f32, {3'700'001}}, {"h", Dtype::bf16, {1'500'003}}};
  for (int index = 0; index < 300; ++index)
    tensors.push_back({"u" + std::to_string(index), Dtype::u8, {static_cast<std::uint64_t>(9'973 + index)}});
  const auto layout = lay_out_safetensors(tensors);
  ASSERT_TRUE(layout.has_value());
  ASSERT_TRUE(write_patterned(dir / "one", *layout, {1, Durability::cached}).has_value());
  ASSERT_TRUE(write_patterned(dir / "many", *layout, {5, Durability::cached}).has_value());
  ASSERT_TRUE(write_patterned(dir / "direct", *layout, {3, Durability::synced}).has_value());
  const std::string one = read_text(dir / "one");
  ASSERT_EQ(one.size(), layout->file_bytes());
  EXPECT_TRUE(one == read_text(dir / "many"));
  EXPECT_TRUE(one == read_text(dir / "direct"));
  for (std::size_t tensor = 0; tensor < layout->tensors.size(); ++tensor)
    for (std::uint64_t offset = 0; offset < layout->tensors[tensor].bytes(); ++offset)
      ASSERT_EQ(static_cast<std::byte>(one[layout->begins[tensor] + offset]),
                byte_of(layout->tensors[tensor].name, offset))
          << layout->tensors[tensor].name << " at " << offset;
}

TEST(SafetensorsWriter, PiecesNeverCutAnElement) {
  const test::TempDir dir;
  const auto layout =
      lay_out_safetensors({{"f", Dtype::f32, {1'000'003}}, {"h", Dtype::bf16, {1'000'001}}, {"u", Dtype::u8, {3}}});
  ASSERT_TRUE(layout.has_value());
  const auto fill = [&](std::size_t tensor, std::uint64_t offset, std::span<std::byte> piece) -> Result<> {
    const std::uint64_t element = dtype_bits(layout->tensors[tensor].type) / 8;
    EXPECT_EQ(offset % element, 0u);
    EXPECT_EQ(piece.size() % element, 0u);
    return {};
  };
  EXPECT_TRUE(write_safetensors(dir / "x", *layout, fill).has_value());
}

TEST(SafetensorsWriter, AFailedFillLeavesNoFile) {
  const test::TempDir dir;
  const auto layout = lay_out_safetensors({{"u", Dtype::u8, {9'000'000}}});
  ASSERT_TRUE(layout.has_value());
  for (const int threads : {1, 3}) {
    const auto fill = [&](std::size_t, std::uint64_t offset, std::span<std::byte>) -> Result<> {
      if (offset > 4'000'000) return fail(ErrorKind::cancelled, "stopped");
      return {};
    };
    const Result<> done = write_safetensors(dir / "x", *layout, fill, {threads, Durability::cached});
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().kind, ErrorKind::cancelled);
    EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
  }
}

TEST(SafetensorsWriter, ANameTwiceIsRefused) {
  const auto layout = lay_out_safetensors({{"a", Dtype::u8, {1}}, {"a", Dtype::f32, {1}}});
  ASSERT_FALSE(layout.has_value());
  EXPECT_NE(layout.error().what.find("tensor a"), std::string::npos);
}

TEST(SafetensorsWriter, IndexNamesTheShardOfEveryTensor) {
  const test::TempDir dir;
  std::vector<SafetensorsLayout> shards;
  shards.push_back(*lay_out_safetensors({{"b", Dtype::u8, {3}}, {"a", Dtype::f32, {1}}}));
  shards.push_back(*lay_out_safetensors({{"c", Dtype::bf16, {2}}}));
  ASSERT_TRUE(write_safetensors_index(dir.path(), shards).has_value());
  const auto index = nlohmann::json::parse(read_text(dir / "model.safetensors.index.json"));
  EXPECT_EQ(index["metadata"]["total_size"], 3 + 4 + 4);
  EXPECT_EQ(index["weight_map"], (nlohmann::json{{"a", "model-00001-of-000002.safetensors"},
                                                 {"b", "model-00001-of-000002.safetensors"},
                                                 {"c", "model-00002-of-000002.safetensors"}}));
}

}  // namespace
}  // namespace sluice
