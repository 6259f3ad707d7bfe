// The law of packing: the same tensors with the same bytes, and what is read together lies together, on pages of its
// own and in the order in which a token walks.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>

#include "checkpoint/read_cost.h"
#include "engine/open_tensors.h"
#include "io/extent.h"
#include "models/deepseek_v4/synth.h"
#include "models/glm_dsa/synth.h"
#include "models/kimi_k3/synth.h"
#include "models/olmoe/synth.h"
#include "support/engine/packed.h"
#include "support/must.h"
#include "support/plain_safetensors.h"
#include "support/relayout.h"
#include "support/temp_dir.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kShardBytes = 300'000;

// What is packed, by name: the four demos, a release of every family, and one in which nothing is adjacent or aligned.
void write_source(const std::string& name, const fs::path& to) {
  const fs::path demo = fs::path(SLUICE_SOURCE_DIR) / "demo" / name;
  if (fs::exists(demo)) return fs::copy(demo, to);
  SynthOptions options{.layers = 6, .experts = 9, .seed = 3};
  const auto write = [&](const Result<SynthCheckpoint>& checkpoint, const fs::path& where) {
    must(write_synth(must(checkpoint), where.string(), {.durability = Durability::cached}, [](auto, auto) {}));
  };
  if (name == "k3") return write(kimi_k3::synth_checkpoint(options), to);
  if (name == "olmoe-synth") return write(olmoe::synth_checkpoint(options), to);
  if (name == "v4") return write(deepseek_v4::synth_checkpoint(options), to);
  options.fp8 = true;
  if (name == "glm-fp8") return write(glm_dsa::synth_checkpoint(options), to);
  const TempDir scratch;
  write(glm_dsa::synth_checkpoint(options), scratch / "glm");
  relayout(scratch / "glm", to.string(), 7);
}

class PackLaw : public testing::TestWithParam<const char*> {
 protected:
  PackLaw() {
    write_source(GetParam(), source());
    pack_checkpoint(source(), packed(), kShardBytes);
    before_ = must(open_tensors(source().string(), 1));
    after_ = must(open_tensors(packed().string(), 1));
  }
  fs::path source() const { return scratch_ / "source"; }
  fs::path packed() const { return scratch_ / "packed"; }

  OpenTensors before_, after_;

 private:
  TempDir scratch_;
};

TEST_P(PackLaw, EveryTensorIsThereUnderItsNameWithItsBytes) {
  const std::map<std::string, PlainTensor> before = read_plain_checkpoint(source());
  std::map<std::string, PlainTensor> after = read_plain_checkpoint(packed());
  std::erase_if(after, [](const auto& entry) { return entry.first.starts_with("sluice.padding."); });
  EXPECT_EQ(after.size(), before.size());
  for (const auto& [name, tensor] : before) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(after.contains(name));
    EXPECT_EQ(after.at(name).dtype, tensor.dtype);
    EXPECT_EQ(after.at(name).shape, tensor.shape);
    EXPECT_TRUE(read_plain_bytes(after.at(name)) == read_plain_bytes(tensor));
  }
}

TEST_P(PackLaw, EveryExpertIsOneRunOnPagesOfItsOwn) {
  const ExpertTable& experts = after_.bound->experts;
  ASSERT_GT(experts.count(), 0);
  for (int layer = 0; layer < experts.layers(); ++layer)
    for (int expert = 0; expert < experts.experts(); ++expert) {
      if (!experts.has(layer, expert)) continue;
      const BlockLayout layout = experts.layout(layer, expert);
      ASSERT_EQ(layout.extents.size(), 1u) << experts.label(layer, expert);
      EXPECT_EQ(layout.extents[0].offset % kDiskPage, 0u) << experts.label(layer, expert);
      EXPECT_EQ(layout.extents[0].bytes, layout.payload_bytes) << experts.label(layer, expert);
    }
}

// Steps that begin with a slice of a tensor go on where the slice before ended; all others begin on a page.
TEST_P(PackLaw, TheTrunkLiesInTheOrderOfTheWalk) {
  const BoundCensus& bound = *after_.bound;
  std::pair<int, std::uint64_t> last{-1, 0};
  for (std::size_t step = 0; step < bound.walk.size(); ++step) {
    SCOPED_TRACE(bound.specs[step].label);
    bool whole = true;
    for (const TensorSpec& spec : bound.specs[step].tensors) whole &= spec.row_count == 0;
    if (whole) {
      ASSERT_EQ(bound.walk[step].extents.size(), 1u);
      EXPECT_EQ(bound.walk[step].extents[0].offset % kDiskPage, 0u);
      EXPECT_EQ(bound.walk[step].extents[0].bytes, bound.walk[step].payload_bytes);
    }
    const Extent& first = bound.walk[step].extents[0];
    const std::pair<int, std::uint64_t> here{first.file, first.offset};
    EXPECT_LT(last, here);
    last = here;
  }
}

TEST_P(PackLaw, ItTakesFewerReadsOfFewerPages) {
  const ReadCost trunk = trunk_cost(*after_.bound), experts = experts_cost(*after_.bound);
  const ReadCost trunk_was = trunk_cost(*before_.bound), experts_were = experts_cost(*before_.bound);
  EXPECT_EQ(trunk.payload_bytes, trunk_was.payload_bytes);
  EXPECT_EQ(experts.payload_bytes, experts_were.payload_bytes);
  EXPECT_LT(trunk.reads, trunk_was.reads);
  EXPECT_LT(trunk.page_bytes, trunk_was.page_bytes);
  EXPECT_LE(experts.reads, experts_were.reads);
  EXPECT_LT(experts.page_bytes, experts_were.page_bytes);
}

INSTANTIATE_TEST_SUITE_P(OfEveryFamily, PackLaw,
                         testing::Values("kimi-k3", "olmoe", "glm-5.2", "deepseek-v4", "k3", "olmoe-synth", "glm-fp8",
                                         "v4", "glm-odd"),
                         [](const auto& tested) {
                           std::string name(tested.param);
                           for (char& letter : name)
                             if (letter == '-' || letter == '.') letter = '_';
                           return name;
                         });

}  // namespace
}  // namespace sluice::test
