// Tests of TensorSpec::alternatives: experts that may have tensors of their own or be rows of one tensor for a layer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "checkpoint/checkpoint.h"
#include "support/must.h"
#include "support/shard_by_hand.h"
#include "support/temp_dir.h"

namespace sluice {
namespace {

using test::hand_bytes, test::HandTensor, test::must, test::write_hand_shard;
using testing::AllOf, testing::HasSubstr, testing::Not;

constexpr int kFusedExperts = 3, kFusedWidth = 6, kFusedInner = 4, kFusedLayers = 2;
constexpr std::size_t kMatrix = 2 * kFusedWidth * kFusedInner;  // bytes

// Matrices [kFusedInner, kFusedWidth] of up and gate; fused, those of an expert follow each other, gate first.
Census fused_census() {
  Census census;
  census.walk = {{"norm", {{"norm", {1, kFusedWidth}}}}};
  census.embedding = {"embed", {5, kFusedWidth}};
  census.layers = kFusedLayers;
  census.experts = kFusedExperts;
  census.has_experts = {true, true};
  census.expert = [](int layer, int expert) {
    const std::string layer_name = "layers." + std::to_string(layer) + ".";
    const auto part = [&](const char* name, int place) {
      const Shape all{kFusedExperts * 2 * kFusedInner, kFusedWidth};
      const TensorSpec fused{layer_name + "gate_up", all, (2 * expert + place) * kFusedInner, kFusedInner,
                             kFusedExperts,          {}};
      const std::string own = layer_name + std::to_string(expert) + "." + name;
      return TensorSpec{own, {kFusedInner, kFusedWidth}, 0, 0, 1, {fused}};
    };
    return BlockSpec{"expert", {part("up", 1), part("gate", 0)}};
  };
  return census;
}

class FusedExperts : public testing::Test {
 protected:
  std::vector<HandTensor> tensors_ = {{"norm", "F32", {kFusedWidth}, hand_bytes(4 * kFusedWidth, 1)},
                                      {"embed", "BF16", {5, kFusedWidth}, hand_bytes(10 * kFusedWidth, 2)}};

  void add_fused(int layer) {
    tensors_.push_back({"layers." + std::to_string(layer) + ".gate_up",
                        "BF16",
                        {kFusedExperts, 2 * kFusedInner, kFusedWidth},
                        hand_bytes(kFusedExperts * 2 * kMatrix, static_cast<unsigned>(10 + layer))});
  }
  void add_own(int layer) {
    for (int expert = 0; expert < kFusedExperts; ++expert)
      for (const char* name : {"gate", "up"})
        tensors_.push_back({"layers." + std::to_string(layer) + "." + std::to_string(expert) + "." + name,
                            "BF16",
                            {kFusedInner, kFusedWidth},
                            hand_bytes(kMatrix, static_cast<unsigned>(100 * expert + layer + name[0]))});
  }
  HandTensor& tensor(const std::string& name) {
    for (HandTensor& candidate : tensors_)
      if (candidate.name == name) return candidate;
    throw std::runtime_error(name);
  }
  Result<BoundCensus> bind(bool partial = false) {
    write_hand_shard(dir_ / "model.safetensors", tensors_);
    return must(open_checkpoint(dir_.path().string(), 1))->bind(fused_census(), partial);
  }
  std::string refusal() {
    const auto bound = bind();
    EXPECT_FALSE(bound);
    return bound ? "" : bound.error().what;
  }
  // The bytes of tensor `number` of an expert, as they lie in the file.
  std::string bytes(const BoundCensus& bound, int layer, int expert, int number) const {
    const BlockLayout layout = bound.experts.layout(layer, expert);
    const Placement& placed = layout.tensors[static_cast<std::size_t>(number)];
    for (const Extent& extent : layout.extents)
      if (placed.weights >= extent.slot_offset && placed.weights < extent.slot_offset + extent.bytes) {
        std::ifstream file(dir_ / "model.safetensors", std::ios::binary);
        file.seekg(static_cast<std::streamoff>(extent.offset + (placed.weights - extent.slot_offset)));
        std::string found(kMatrix, ' ');
        file.read(found.data(), static_cast<std::streamsize>(found.size()));
        return found;
      }
    return "no extent holds it";
  }

  test::TempDir dir_;
};

TEST_F(FusedExperts, AreRowsOfTheTensorOfTheirLayer) {
  add_fused(0);
  add_own(1);  // each layer as it is
  BoundCensus bound = must(bind());
  for (int expert = 0; expert < kFusedExperts; ++expert) {
    const std::string own = "layers.1." + std::to_string(expert);
    EXPECT_EQ(bytes(bound, 1, expert, 0), tensor(own + ".up").data);
    EXPECT_EQ(bytes(bound, 1, expert, 1), tensor(own + ".gate").data);
    const std::string& fused = tensor("layers.0.gate_up").data;
    const std::size_t first = 2 * kMatrix * static_cast<std::size_t>(expert);
    EXPECT_EQ(bytes(bound, 0, expert, 1), fused.substr(first, kMatrix));
    EXPECT_EQ(bytes(bound, 0, expert, 0), fused.substr(first + kMatrix, kMatrix));
    EXPECT_EQ(bound.experts.layout(0, expert).extents.size(), 1u);
  }
  EXPECT_EQ(bound.totals["experts"]["bf16"].tensors, 1u + 2 * kFusedExperts);
  EXPECT_EQ(bound.totals["experts"]["bf16"].bytes, kFusedLayers * kFusedExperts * 2 * kMatrix);
}

TEST_F(FusedExperts, AreMissedByTheNameTheOthersHave) {
  add_fused(0);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("'layers.1.gate_up'"), Not(HasSubstr("'layers.1.0"))));
  tensors_.pop_back();
  add_own(0);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("'layers.1.0.up'"), Not(HasSubstr("gate_up"))));
}

TEST_F(FusedExperts, HaveTheirShapeCheckedBothWays) {
  add_fused(0);
  add_fused(1);
  tensor("layers.1.gate_up").shape = {2 * kFusedInner, kFusedExperts, kFusedWidth};
  EXPECT_THAT(refusal(), HasSubstr("has shape [8, 3, 6], wanted is [3, 8, 6]"));
  tensor("layers.1.gate_up").shape = {kFusedExperts * 2 * kFusedInner, kFusedWidth};
  EXPECT_THAT(refusal(), HasSubstr("has shape [24, 6], wanted is [3, 8, 6]"));
}

TEST_F(FusedExperts, AndTheirOwnTensorsTooAreOneTooMany) {
  add_fused(0);
  add_fused(1);
  add_own(1);
  EXPECT_THAT(refusal(), HasSubstr("'layers.1.gate_up' in model.safetensors"));
}

}  // namespace
}  // namespace sluice
