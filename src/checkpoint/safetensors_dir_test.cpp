// Binding a small family to small directories: where bytes are found, and everything that can be wrong with them.
#include "checkpoint/safetensors_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "support/must.h"
#include "support/shard_by_hand.h"
#include "support/temp_dir.h"

namespace sluice {
namespace {

using test::hand_bytes, test::HandTensor, test::must, test::write_hand_shard;
using testing::AllOf, testing::HasSubstr, testing::Not;

constexpr int kDirExperts = 3;

std::vector<HandTensor> expert_tensors(int expert) {
  const std::string name = "layers.1.experts." + std::to_string(expert) + ".";
  const auto seed = static_cast<unsigned>(100 * expert);
  return {{name + "w1.weight_packed", "U8", {4, 32}, hand_bytes(128, seed + 1)},
          {name + "w1.weight_scale", "U8", {4, 2}, hand_bytes(8, seed + 2)},
          {name + "w2.weight_packed", "U8", {6, 16}, hand_bytes(96, seed + 3)},
          {name + "w2.weight_scale", "U8", {6, 1}, hand_bytes(6, seed + 4)}};
}

// Two shards: layer 0 with the globals, layer 1 with experts, and a picture tower to skip.
class SafetensorsDirTest : public testing::Test {
 protected:
  SafetensorsDirTest() {
    first_ = {{"layers.0.conv", "F32", {2, 1, 4}, hand_bytes(32, 1)},
              {"layers.0.norm.weight", "BF16", {8}, hand_bytes(16, 2)},
              {"layers.0.q.weight", "BF16", {6, 8}, hand_bytes(96, 3)},
              {"embed.weight", "BF16", {10, 8}, hand_bytes(160, 4)},
              {"head.weight", "BF16", {10, 8}, hand_bytes(160, 5)}};
    second_ = {{"layers.1.norm.weight", "BF16", {1, 8}, hand_bytes(16, 6)},
               {"layers.1.gain", "F32", {2}, hand_bytes(8, 8)},
               {"eyes.patch", "F16", {3, 3}, hand_bytes(18, 7)}};
    for (int expert : {0, 2, 1})
      for (HandTensor& tensor : expert_tensors(expert)) second_.push_back(tensor);
  }

  static Census census() {
    Census census;
    census.walk = {
        {"layer 0", {{"layers.0.q.weight", {6, 8}}, {"layers.0.norm.weight", {1, 8}}, {"layers.0.conv", {2, 4}}}},
        {"layer 1", {{"layers.1.norm.weight", {1, 8}}, {"layers.1.gain", {1, 2}}}},
        {"head rows 0..6", {{"head.weight", {10, 8}, 0, 7}}, "head"},
        {"head rows 7..9", {{"head.weight", {10, 8}, 7, 3}}, "head"}};
    census.embedding = {"embed.weight", {10, 8}};
    census.layers = 2;
    census.experts = kDirExperts;
    census.has_experts = {false, true};
    census.expert = [](int layer, int expert) {
      const std::string name = "layers." + std::to_string(layer) + ".experts." + std::to_string(expert) + ".";
      return BlockSpec{"layer 1 expert", {{name + "w2.weight", {6, 32}}, {name + "w1.weight", {4, 64}}}};
    };
    census.ignored = {"eyes."};
    return census;
  }

  void write() const {
    write_hand_shard(dir_ / "model-00001-of-000002.safetensors", first_);
    write_hand_shard(dir_ / "model-00002-of-000002.safetensors", second_);
  }
  Result<BoundCensus> bind(bool partial = false) const {
    TRY_TAKE(const std::unique_ptr<Checkpoint> checkpoint, open_checkpoint(dir_.path().string(), 1));
    return checkpoint->bind(census(), partial);
  }
  std::string refusal(bool partial = false) const {
    write();
    const auto bound = bind(partial);
    EXPECT_FALSE(bound);
    if (bound) return "";
    EXPECT_EQ(bound.error().kind, ErrorKind::corrupt);
    return bound.error().what;
  }
  HandTensor& tensor(const std::string& name) {
    for (auto* shard : {&first_, &second_})
      for (HandTensor& candidate : *shard)
        if (candidate.name == name) return candidate;
    throw std::runtime_error(name);
  }
  void remove(const std::string& name) {
    for (auto* shard : {&first_, &second_})
      std::erase_if(*shard, [&](const HandTensor& candidate) { return candidate.name == name; });
  }

  // What a reader would put in the slot of a block.
  std::vector<std::byte> slot_of(const BlockLayout& layout, const std::vector<std::string>& files) const {
    std::vector<std::byte> slot(layout.slot_bytes, std::byte{0xee});
    for (const Extent& extent : layout.extents) {
      EXPECT_EQ(extent.slot_offset % kDiskPage, extent.offset % kDiskPage);
      EXPECT_LE(page_ceil(extent.slot_offset + extent.bytes), layout.slot_bytes);
      std::ifstream file(files[static_cast<std::size_t>(extent.file)], std::ios::binary);
      file.seekg(static_cast<std::streamoff>(extent.offset));
      file.read(reinterpret_cast<char*>(slot.data() + extent.slot_offset), static_cast<std::streamsize>(extent.bytes));
      EXPECT_TRUE(file.good());
    }
    return slot;
  }
  static std::string text(const std::byte* bytes, std::size_t count) {
    return {reinterpret_cast<const char*>(bytes), count};
  }
  void expect_all_bytes(const BoundCensus& bound, const std::vector<std::string>& files) {
    const std::vector<std::byte> layer = slot_of(bound.walk[0], files);
    EXPECT_EQ(text(bound.walk[0].view(layer.data(), 0).weights, 96), tensor("layers.0.q.weight").data);
    EXPECT_EQ(text(bound.walk[0].view(layer.data(), 1).weights, 16), tensor("layers.0.norm.weight").data);
    EXPECT_EQ(text(bound.walk[0].view(layer.data(), 2).weights, 32), tensor("layers.0.conv").data);
    const std::vector<std::byte> head = slot_of(bound.walk[3], files);
    EXPECT_EQ(text(bound.walk[3].view(head.data(), 0).weights, 48), tensor("head.weight").data.substr(7 * 16));
    for (int expert = 0; expert < kDirExperts; ++expert) {
      const BlockLayout layout = bound.experts.layout(1, expert);
      const std::vector<std::byte> slot = slot_of(layout, files);
      const std::string name = "layers.1.experts." + std::to_string(expert) + ".";
      const WeightView w2 = layout.view(slot.data(), 0), w1 = layout.view(slot.data(), 1);
      EXPECT_EQ(text(w1.weights, 128), tensor(name + "w1.weight_packed").data);
      EXPECT_EQ(text(w1.scales, 8), tensor(name + "w1.weight_scale").data);
      EXPECT_EQ(text(w2.weights, 96), tensor(name + "w2.weight_packed").data);
      EXPECT_EQ(text(w2.scales, 6), tensor(name + "w2.weight_scale").data);
      EXPECT_EQ(w2.format, FormatId::mxfp4);
      EXPECT_EQ(w2.shape, (Shape{6, 32}));
    }
  }

  test::TempDir dir_;
  std::vector<HandTensor> first_, second_;
};

TEST_F(SafetensorsDirTest, BindsEveryByteWhereItIs) {
  write();
  const auto checkpoint = must(open_checkpoint(dir_.path().string(), 2));
  ASSERT_EQ(checkpoint->files().size(), 2u);
  const BoundCensus bound = must(checkpoint->bind(census(), false));
  ASSERT_EQ(bound.walk.size(), 4u);
  EXPECT_EQ(bound.walk[0].extents.size(), 1u);
  EXPECT_EQ(bound.walk[0].payload_bytes, 144u);
  EXPECT_EQ(bound.walk[0].tensors[0].format, FormatId::bf16);
  EXPECT_EQ(bound.walk[0].tensors[2].format, FormatId::f32);
  EXPECT_EQ(bound.walk[0].tensors[2].shape, (Shape{2, 4}));
  EXPECT_EQ(bound.walk[2].tensors[0].shape, (Shape{7, 8}));
  EXPECT_EQ(bound.embedding.name, "embed.weight");
  EXPECT_EQ(bound.embedding.file, 0);
  EXPECT_EQ(bound.embedding.shape, (Shape{10, 8}));
  expect_all_bytes(bound, checkpoint->files());
}

TEST_F(SafetensorsDirTest, CountsBytesByRoleAndFormat) {
  write();
  BoundCensus bound = must(bind());
  EXPECT_EQ(bound.totals["trunk"]["bf16"].bytes, 96u + 16 + 16);
  EXPECT_EQ(bound.totals["trunk"]["bf16"].tensors, 3u);
  EXPECT_EQ(bound.totals["trunk"]["f32"].bytes, 32u + 8);
  EXPECT_EQ(bound.totals["head"]["bf16"].bytes, 160u);
  EXPECT_EQ(bound.totals["head"]["bf16"].tensors, 1u);
  EXPECT_EQ(bound.totals["embedding"]["bf16"].bytes, 160u);
  EXPECT_EQ(bound.totals["experts"]["mxfp4"].bytes, 3u * 238);
  EXPECT_EQ(bound.totals["experts"]["mxfp4"].tensors, 12u);
  EXPECT_EQ(bound.totals["ignored"]["f16"].bytes, 18u);
}

TEST_F(SafetensorsDirTest, ExpertsInOneRunAreOneRead) {
  write();
  const BoundCensus bound = must(bind());
  const ExpertTable& experts = bound.experts;
  EXPECT_EQ(experts.count(), kDirExperts);
  EXPECT_EQ(experts.payload_bytes(), 3u * 238);
  EXPECT_FALSE(experts.has(0, 0));
  EXPECT_FALSE(experts.has(1, kDirExperts));
  EXPECT_EQ(experts.label(1, 2), "layer 1 expert 2");
  for (int expert = 0; expert < kDirExperts; ++expert) {
    ASSERT_TRUE(experts.has(1, expert));
    const BlockLayout layout = experts.layout(1, expert);
    ASSERT_EQ(layout.extents.size(), 1u);
    EXPECT_EQ(layout.extents[0].bytes, 238u);
    EXPECT_EQ(layout.payload_bytes, 238u);
    EXPECT_LE(layout.slot_bytes, experts.slot_bytes());
  }
  // On disk the order is 0, 2, 1.
  EXPECT_EQ(experts.layout(1, 2).extents[0].offset, experts.layout(1, 0).extents[0].offset + 238);
}

// The same tensors in one file, in an order that separates every expert's tensors, with room between some of them.
TEST_F(SafetensorsDirTest, BindsACheckpointInDisorder) {
  std::vector<HandTensor> all = first_;
  all.insert(all.end(), second_.begin(), second_.end());
  std::sort(all.begin(), all.end(), [](const HandTensor& left, const HandTensor& right) {
    const std::string a(left.name.rbegin(), left.name.rend()), b(right.name.rbegin(), right.name.rend());
    return a < b;
  });
  for (std::size_t place : {2u, 5u, 9u, 12u})
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(place),
               {"eyes." + std::to_string(place), "U8", {9001}, hand_bytes(9001, 9)});
  write_hand_shard(dir_ / "all.safetensors", all);
  const auto checkpoint = must(open_checkpoint(dir_.path().string(), 1));
  const BoundCensus bound = must(checkpoint->bind(census(), false));
  expect_all_bytes(bound, checkpoint->files());
  std::size_t reads = 0;
  for (int expert = 0; expert < kDirExperts; ++expert) reads += bound.experts.layout(1, expert).extents.size();
  EXPECT_GT(reads, 3u) << "the disorder should separate tensors";
}

TEST_F(SafetensorsDirTest, PartialIgnoresWhatItDoesNotKnow) {
  second_.push_back({"layers.2.norm.weight", "BF16", {8}, hand_bytes(16, 9)});
  EXPECT_THAT(refusal(), AllOf(HasSubstr("'layers.2.norm.weight' in model-00002-of-000002.safetensors"),
                               Not(HasSubstr("missing"))));
  EXPECT_TRUE(bind(true));
}

TEST_F(SafetensorsDirTest, TellsEverythingInOneMessage) {
  remove("layers.0.norm.weight");
  remove("layers.1.experts.2.w2.weight_scale");
  tensor("layers.0.conv").shape = {1, 8};
  tensor("embed.weight").dtype = "I16";
  second_.push_back({"stray", "U8", {1}, "x"});
  EXPECT_THAT(
      refusal(),
      AllOf(HasSubstr(
                "missing 2 tensors: 'layers.0.norm.weight' (its neighbours are in model-00001-of-000002.safetensors)"),
            HasSubstr("'layers.1.experts.2.w2.weight_scale' (its neighbours are in model-00002"),
            HasSubstr("'layers.0.conv' in model-00001-of-000002.safetensors has shape [1, 8], wanted is [2, 4]"),
            HasSubstr("'embed.weight' in model-00001-of-000002.safetensors is stored as I16"),
            HasSubstr("'stray' in model-00002-of-000002.safetensors")));
}

TEST_F(SafetensorsDirTest, RefusesATransposedMatrix) {
  tensor("layers.0.q.weight").shape = {8, 6};
  EXPECT_THAT(refusal(),
              HasSubstr("'layers.0.q.weight' in model-00001-of-000002.safetensors has shape [8, 6], wanted is [6, 8]"));
}

TEST_F(SafetensorsDirTest, NamesTheMissingShard) {
  write();
  std::filesystem::remove(dir_ / "model-00001-of-000002.safetensors");
  const auto bound = bind(false);
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().kind, ErrorKind::corrupt);
  EXPECT_THAT(bound.error().what,
              AllOf(HasSubstr("missing 5 tensors"), HasSubstr("shard model-00001-of-000002.safetensors")));
}

// A shard that is absent though nothing wanted is in it: forgiven if the index says that it holds left-out parts only.
TEST_F(SafetensorsDirTest, ForgivesAnAbsentShardOfIgnoredTensorsThatTheIndexLists) {
  write();
  std::filesystem::rename(dir_ / "model-00001-of-000002.safetensors", dir_ / "model-00001-of-000003.safetensors");
  std::filesystem::rename(dir_ / "model-00002-of-000002.safetensors", dir_ / "model-00002-of-000003.safetensors");
  const auto refused = [&] {
    const auto bound = bind(false);
    return !bound && bound.error().kind == ErrorKind::corrupt &&
           bound.error().what.find("not here: shard model-00003-of-000003.safetensors") != std::string::npos;
  };
  const auto index = [&](const char* text) { std::ofstream(dir_ / "model.safetensors.index.json") << text; };
  EXPECT_TRUE(refused()) << "no index";
  EXPECT_TRUE(bind(true));
  index(R"({"weight_map": {"eyes.a": "model-00003-of-000003.safetensors", "b": "model-00003-of-000003.safetensors"}})");
  EXPECT_TRUE(refused()) << "something else is in it";
  index(R"({"weight_map": {"eyes.a": "model-00002-of-000003.safetensors"}})");
  EXPECT_TRUE(refused()) << "not listed";
  index(R"({"weight_map": {"eyes.a": )");
  EXPECT_TRUE(refused()) << "damaged index";
  index(R"({"weight_map": {"eyes.a": "model-00003-of-000003.safetensors"}})");
  EXPECT_TRUE(bind(false));
}

// One damaged byte of the header of one file, whatever it is: the file is named, with a full and with a partial census.
TEST_F(SafetensorsDirTest, EveryDamagedHeaderByteIsRefusedByFile) {
  write();
  const std::string path = dir_ / "model-00002-of-000002.safetensors";
  std::ifstream stream(path, std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(stream)), {});
  const std::size_t header = test::hand_header(second_).size();
  const std::size_t eyes = good.find("eyes.patch");
  const auto put = [&](std::size_t place, char byte) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(place)).put(byte);
  };
  for (std::size_t place = 0; place < 8 + header; ++place) {
    const char bad = static_cast<char>(good[place] ^ (place % 7 == 0 ? 0x80 : 1 << place % 7));
    put(place, bad);
    for (const bool partial : {false, true}) {
      const auto bound = bind(partial);
      if (bound && place >= eyes && place < good.find('}', eyes)) continue;  // nobody needs to know of a picture tower
      ASSERT_FALSE(bound) << "byte " << place << ": " << good.substr(place, 1) << " -> " << bad;
      EXPECT_EQ(bound.error().kind, ErrorKind::corrupt);
      EXPECT_THAT(bound.error().what, HasSubstr("model-00002-of-000002.safetensors"))
          << "byte " << place << " partial " << partial;
    }
    put(place, good[place]);
  }
}

TEST_F(SafetensorsDirTest, RefusesTwoFormsOfOneTensor) {
  second_.push_back({"layers.1.experts.0.w1.weight", "BF16", {4, 64}, hand_bytes(512, 9)});
  EXPECT_THAT(refusal(), HasSubstr("two forms"));
}

TEST_F(SafetensorsDirTest, RefusesDirectoriesThatHoldNoModel) {
  auto nothing = open_checkpoint(dir_.path().string(), 1);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().kind, ErrorKind::corrupt);
  nothing = open_checkpoint((dir_ / "nowhere").string(), 1);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().kind, ErrorKind::bad_input);
  EXPECT_THAT(nothing.error().what, HasSubstr("nowhere"));
  auto config = read_config(dir_.path().string());
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().kind, ErrorKind::bad_input);
  EXPECT_THAT(config.error().what, HasSubstr("config.json"));
  std::ofstream(dir_ / "config.json") << "{}\n";
  EXPECT_EQ(must(read_config(dir_.path().string())), "{}\n");
}

}  // namespace
}  // namespace sluice
