// The law of layouts: what a block's extents bring into a slot is, tensor by tensor, what lies on disk under that name.
//
// Read once as the engine reads (extents through a read queue into a slot) and once by name with a parser that shares
// no code with src/checkpoint. For the released layout and for one in which nothing is adjacent or aligned.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "checkpoint/checkpoint.h"
#include "formats/format.h"
#include "io/aligned.h"
#include "io/read_queue.h"
#include "models/deepseek_v4/synth.h"
#include "models/glm_dsa/synth.h"
#include "models/kimi_k3/synth.h"
#include "models/olmoe/synth.h"
#include "models/registry.h"
#include "residency/id_table.h"
#include "support/engine/other_names.h"
#include "support/engine/packed.h"
#include "support/golden_vector.h"
#include "support/must.h"
#include "support/plain_safetensors.h"
#include "support/relayout.h"
#include "support/temp_dir.h"

namespace sluice::test {
namespace {

// The checkpoints of every family, as released ("…-fused": experts of a layer in one tensor, and other names where the
// family has some), in disorder ("…-odd") and packed ("…-packed"). Each is written when it is first asked for: a test
// that runs alone needs one or two of them.
class Fixtures {
 public:
  static Fixtures& all() {
    static Fixtures fixtures;
    return fixtures;
  }
  std::string path(const std::string& name) {
    const std::filesystem::path directory = dir_ / name;
    if (!std::filesystem::exists(directory)) write(name, directory);
    return directory.string();
  }

 private:
  void write(const std::string& name, const std::filesystem::path& to) {
    const auto without = [&](std::string_view ending) { return name.substr(0, name.size() - ending.size()); };
    if (name.ends_with("-packed")) return pack_checkpoint(path(without("-packed")), to, 1 << 20);
    if (name.ends_with("-odd")) return relayout(path(without("-odd")), to, std::hash<std::string>()(name));
    if (name == "k3-golden") return write_golden_vector(to);
    if (name == "olmoe-fused")
      return std::filesystem::copy(std::filesystem::path(SLUICE_SOURCE_DIR) / "tests/golden/olmoe/b", to);
    if (name == "v4-fused") return write_by_other_names(path("v4"), to);
    SynthOptions options{.layers = 9, .experts = 23, .seed = 5};
    options.fp8 = name == "glm-fp8";
    const SynthCheckpoint checkpoint = must(name == "k3"      ? kimi_k3::synth_checkpoint(options)
                                            : name == "olmoe" ? olmoe::synth_checkpoint(options)
                                            : name == "v4"    ? deepseek_v4::synth_checkpoint(options)
                                                              : glm_dsa::synth_checkpoint(options));
    must(write_synth(checkpoint, to, {.durability = Durability::cached}, [](std::uint64_t, std::uint64_t) {}));
  }
  TempDir dir_;
};

struct Case {
  std::string checkpoint;
  IoMode mode;
};

class LayoutLaw : public testing::TestWithParam<Case> {
 protected:
  LayoutLaw()
      : directory_(Fixtures::all().path(GetParam().checkpoint)),
        config_(must(read_model_config(must(read_config(directory_)), "config.json"))),
        census_(config_->census({config_->layers(), config_->has_draft_head()})),
        checkpoint_(must(open_checkpoint(directory_, 2))),
        bound_(must(checkpoint_->bind(census_, false))),
        files_(must(open_files(checkpoint_->files(), GetParam().mode))),
        queue_(make_pread_queue(*files_, 2)),
        plain_(read_plain_checkpoint(directory_)) {}

  // Reads a block as the engine does and compares every tensor of it.
  void expect_block(const BlockSpec& spec, const BlockLayout& layout) {
    SCOPED_TRACE(spec.label);
    ASSERT_EQ(layout.tensors.size(), spec.tensors.size());
    expect_extents_apart(layout);
    const PageArena slot(layout.slot_bytes);
    ASSERT_GE(slot.size(), layout.slot_bytes);
    std::memset(slot.data(), 0xEE, slot.size());
    Landings landings;
    queue_->submit(1, layout.extents, slot.slice(0, layout.slot_bytes), Urgency::demand, landings);
    must(landings.wait().status);
    std::uint64_t payload = 0;
    for (std::size_t tensor = 0; tensor < spec.tensors.size(); ++tensor)
      payload += expect_tensor(spec.tensors[tensor], layout.view(slot.data(), static_cast<int>(tensor)));
    EXPECT_EQ(layout.payload_bytes, payload);
  }

  // Returns the bytes compared.
  std::uint64_t expect_tensor(const TensorSpec& wanted, const WeightView& view) {
    const auto elsewhere =
        std::ranges::find_if(wanted.alternatives, [&](const TensorSpec& other) { return plain_.contains(other.name); });
    const TensorSpec& spec = elsewhere != wanted.alternatives.end() ? *elsewhere : wanted;
    SCOPED_TRACE(spec.name);
    EXPECT_EQ(view.shape, spec.held());
    const Format& stored = format(view.format);
    const std::uint64_t weights_before = stored.weight_bytes({spec.first_row, spec.shape.cols});
    const auto weights = [&](const std::string& name, const char* dtype) {
      return expect_bytes(name, dtype, view.weights, stored.weight_bytes(spec.shape), weights_before,
                          stored.weight_bytes(spec.held()));
    };
    if (stored.scales == ScaleKind::none) {
      EXPECT_EQ(view.scales, nullptr);
      return weights(spec.name, view.format == FormatId::f32 ? "F32" : "BF16");
    }
    const ScaleRun run = stored.scale_run(spec.shape.cols, spec.first_row, spec.held().rows);
    EXPECT_EQ(view.scale_phase, run.phase);
    const auto scales = [&](const std::string& name, const char* dtype) {
      return expect_bytes(name, dtype, view.scales, stored.scale_bytes(spec.shape), run.offset, run.bytes);
    };
    if (plain_.contains(spec.name) && view.format != FormatId::fp8)  // as DeepSeek-V4 spells them
      return weights(spec.name, view.format == FormatId::mxfp4 ? "I8" : "F8_E4M3") +
             scales(spec.name.substr(0, spec.name.rfind('.')) + ".scale", "F8_E8M0");
    if (view.format == FormatId::fp8) return weights(spec.name, "F8_E4M3") + scales(spec.name + "_scale_inv", "F32");
    return weights(spec.name + "_packed", "U8") + scales(spec.name + "_scale", "U8");
  }

  // A tensor of `all` bytes, of which those [first, first + count) are at `found`.
  std::uint64_t expect_bytes(const std::string& name, const char* dtype, const std::byte* found, std::uint64_t all,
                             std::uint64_t first, std::uint64_t count) {
    const auto entry = plain_.find(name);
    if (entry == plain_.end() || found == nullptr) {
      ADD_FAILURE() << name << " is not in the checkpoint or was not placed";
      return 0;
    }
    EXPECT_EQ(entry->second.dtype, dtype);
    EXPECT_EQ(entry->second.bytes, all);
    const std::vector<std::byte> expected = read_plain_bytes(entry->second);
    EXPECT_LE(first + count, expected.size());
    EXPECT_EQ(std::memcmp(found, expected.data() + first, count), 0) << "bytes differ";
    covered_[name] += count;
    return count;
  }

  const PlainTensor& embedding() const {
    const TensorSpec& wanted = census_.embedding;
    return plain_.at(plain_.contains(wanted.name) ? wanted.name : wanted.alternatives.at(0).name);
  }

  static void expect_extents_apart(const BlockLayout& layout) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> pages;
    for (const Extent& extent : layout.extents) {
      EXPECT_EQ(extent.slot_offset % kDiskPage, extent.offset % kDiskPage);
      pages.emplace_back(page_floor(extent.slot_offset), page_ceil(extent.slot_offset + extent.bytes));
    }
    std::sort(pages.begin(), pages.end());
    for (std::size_t index = 1; index < pages.size(); ++index) EXPECT_LE(pages[index - 1].second, pages[index].first);
    EXPECT_TRUE(pages.empty() || pages.back().second <= layout.slot_bytes);
  }

  const std::string directory_;
  const std::unique_ptr<ModelConfig> config_;
  const Census census_;
  const std::unique_ptr<Checkpoint> checkpoint_;
  const BoundCensus bound_;
  const std::unique_ptr<Files> files_;
  const std::unique_ptr<ReadQueue> queue_;
  const std::map<std::string, PlainTensor> plain_;
  std::map<std::string, std::uint64_t> covered_;  // bytes compared, by stored name
};

// Every block of the census equals the files, and together they are the whole checkpoint, each byte once.
TEST_P(LayoutLaw, BlocksAreTheTensorsAndNothingIsLeftOver) {
  ASSERT_EQ(bound_.walk.size(), census_.walk.size());
  for (std::size_t step = 0; step < census_.walk.size(); ++step) expect_block(census_.walk[step], bound_.walk[step]);
  for (int layer = 0; layer < census_.layers; ++layer)
    for (int expert = 0; expert < census_.experts; ++expert) {
      ASSERT_EQ(bound_.experts.has(layer, expert), census_.has_experts[static_cast<std::size_t>(layer)]);
      if (!bound_.experts.has(layer, expert)) continue;
      const BlockLayout layout = bound_.experts.layout(layer, expert);
      EXPECT_LE(layout.slot_bytes, bound_.experts.slot_bytes());
      expect_block(census_.expert(layer, expert), layout);
    }
  covered_[embedding().name] += embedding().bytes;  // see the next tests
  for (const BoundIds& table : bound_.id_tables) covered_[table.name] += plain_.at(table.name).bytes;
  for (const auto& [name, tensor] : plain_) {
    if (name.starts_with("sluice.padding.")) continue;
    const bool ignored = std::any_of(census_.ignored.begin(), census_.ignored.end(),
                                     [&, &name = name](const std::string& prefix) { return name.starts_with(prefix); });
    EXPECT_EQ(covered_[name], ignored ? 0 : tensor.bytes) << name;
  }
}

TEST_P(LayoutLaw, EmbeddingRowsAreWhereTheTableSays) {
  const BoundTensor& table = bound_.embedding;
  const PlainTensor& tensor = embedding();
  EXPECT_EQ(table.format, FormatId::bf16);
  EXPECT_EQ(table.shape, (Shape{static_cast<int>(tensor.shape.at(0)), static_cast<int>(tensor.shape.at(1))}));
  EXPECT_EQ(std::filesystem::path(checkpoint_->files().at(static_cast<std::size_t>(table.file))), tensor.file);
  EXPECT_EQ(table.weights_offset, tensor.offset);
}

TEST_P(LayoutLaw, TablesOfIdsHoldTheNumbersOnDisk) {
  ASSERT_EQ(bound_.id_tables.size(), census_.id_tables.size());
  for (const BoundIds& table : bound_.id_tables) {
    const IdTable ids = must(read_id_table(table, *queue_));
    const std::vector<std::byte> bytes = read_plain_bytes(plain_.at(table.name));
    const int cols = table.shape.cols;
    ASSERT_EQ(bytes.size(), 8u * static_cast<std::size_t>(table.shape.rows * cols));
    for (int row = 0; row < table.shape.rows; ++row)
      for (int col = 0; col < cols; ++col) {
        std::int64_t id = -1;
        std::memcpy(&id, bytes.data() + 8 * static_cast<std::size_t>(row * cols + col), 8);
        ASSERT_EQ(ids.of(row)[static_cast<std::size_t>(col)], id) << table.name;
      }
  }
}

// Released files are ordered by type, so packed weights lie in one run and scales of another type in another.
TEST_P(LayoutLaw, ReleasedAndPackedExpertsAreOneReadEachAndFusedOrScaledOnesTwo) {
  const auto is = [](const char* word) { return GetParam().checkpoint.find(word) != std::string::npos; };
  std::size_t most = 0, fewest = 1000;
  const int layer = census_.layers - 1;
  for (int expert = 0; expert < census_.experts; ++expert) {
    const std::size_t reads = bound_.experts.layout(layer, expert).extents.size();
    most = std::max(most, reads);
    fewest = std::min(fewest, reads);
  }
  if (is("packed"))
    EXPECT_EQ(most, 1u);
  else if (is("odd"))
    EXPECT_GT(most, 1u) << "the odd layout does not test the fallback";
  else
    EXPECT_LE(most, is("fused") || is("fp8") || is("v4") ? 2u : 1u);
  EXPECT_TRUE(!is("v4") || is("odd") || is("packed") || fewest == 2)
      << "a contiguous expert would not test the two runs";
  EXPECT_GE(fewest, 1u);
}

// The first layers alone: the rest of the files is no surplus then, and their blocks are the same.
TEST_P(LayoutLaw, APrefixOfTheLayersBindsAlone) {
  for (const int layers : {1, 2, std::min(5, census_.layers)}) {
    const Census part = config_->census({layers, false});
    const BoundCensus bound = must(checkpoint_->bind(part, true));
    ASSERT_EQ(bound.walk.size(), part.walk.size());
    for (std::size_t step = 0; step < part.walk.size(); ++step) expect_block(part.walk[step], bound.walk[step]);
  }
}

std::string case_name(const testing::TestParamInfo<Case>& test) {
  std::string name = test.param.checkpoint + (test.param.mode == IoMode::buffered ? "Buffered" : "Auto");
  std::erase(name, '-');
  return name;
}
INSTANTIATE_TEST_SUITE_P(
    Checkpoints, LayoutLaw,
    testing::Values(Case{"k3-golden", IoMode::automatic}, Case{"k3-golden", IoMode::buffered},
                    Case{"k3-golden-odd", IoMode::automatic}, Case{"k3-golden-odd", IoMode::buffered},
                    Case{"k3", IoMode::automatic}, Case{"k3-odd", IoMode::automatic}, Case{"glm", IoMode::automatic},
                    Case{"glm-odd", IoMode::automatic}, Case{"glm-fp8", IoMode::automatic},
                    Case{"glm-fp8-odd", IoMode::automatic}, Case{"olmoe", IoMode::automatic},
                    Case{"olmoe-odd", IoMode::automatic}, Case{"olmoe-fused", IoMode::automatic},
                    Case{"olmoe-fused-odd", IoMode::automatic}, Case{"v4", IoMode::automatic},
                    Case{"v4", IoMode::buffered}, Case{"v4-odd", IoMode::automatic},
                    Case{"v4-fused", IoMode::automatic}, Case{"v4-fused-odd", IoMode::automatic},
                    Case{"k3-odd-packed", IoMode::automatic}, Case{"glm-fp8-packed", IoMode::automatic},
                    Case{"olmoe-fused-packed", IoMode::automatic}, Case{"v4-packed", IoMode::automatic},
                    Case{"v4-packed", IoMode::buffered}, Case{"v4-fused-packed", IoMode::automatic}),
    case_name);

}  // namespace
}  // namespace sluice::test
