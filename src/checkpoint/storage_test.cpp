// How stored matrices are recognised: every convention of the table, slices of each, and what is refused.
#include "checkpoint/storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include "checkpoint/bind.h"
#include "formats/format.h"
#include "support/must.h"
#include "support/shard_by_hand.h"
#include "support/temp_dir.h"

namespace sluice {
namespace {

using test::hand_bytes, test::HandTensor, test::must;
using testing::AllOf, testing::HasSubstr;

struct Part {
  std::string name, type;
  std::vector<std::uint64_t> shape;
};
struct Spelling {
  FormatId format;
  Part weights, scales;  // an empty name: none
};
// Of the matrix w.weight [300, 96].
const Spelling kSpellings[] = {
    {FormatId::f32, {"w.weight", "F32", {300, 96}}, {}},
    {FormatId::bf16, {"w.weight", "BF16", {300, 96}}, {}},
    {FormatId::f16, {"w.weight", "F16", {300, 96}}, {}},
    {FormatId::fp8, {"w.weight", "F8_E4M3", {300, 96}}, {"w.weight_scale_inv", "F32", {3, 1}}},
    {FormatId::fp8_e8m0, {"w.weight", "F8_E4M3", {300, 96}}, {"w.weight_scale_inv", "F8_E8M0", {3, 1}}},
    {FormatId::fp8_e8m0, {"w.weight", "F8_E4M3", {300, 96}}, {"w.scale", "F8_E8M0", {3, 1}}},
    {FormatId::mxfp4, {"w.weight", "I8", {300, 48}}, {"w.scale", "F8_E8M0", {300, 3}}},
    {FormatId::mxfp4, {"w.weight_packed", "U8", {300, 48}}, {"w.weight_scale", "U8", {300, 3}}},
    {FormatId::int8, {"w.weight", "I8", {300, 96}}, {"w.weight_scale_int8", "F32", {300}}},
    {FormatId::int4, {"w.weight_packed", "U8", {300, 48}}, {"w.weight_scale_int4", "F32", {300, 1}}},
    {FormatId::int4g32, {"w.weight_packed", "U8", {300, 48}}, {"w.weight_scale_int4g32", "F32", {300, 3}}},
    {FormatId::int4g64, {"w.weight_packed", "U8", {300, 48}}, {"w.weight_scale_int4g64", "F32", {300, 2}}},
    {FormatId::int4g128, {"w.weight_packed", "U8", {300, 48}}, {"w.weight_scale_int4g128", "F32", {300, 1}}},
};

class StorageTest : public testing::Test {
 protected:
  void put(const Part& part) {
    const std::map<std::string, std::size_t> widths = {{"F32", 4}, {"BF16", 2}, {"F16", 2}};
    std::size_t bytes = widths.count(part.type) ? widths.at(part.type) : 1;
    for (const std::uint64_t size : part.shape) bytes *= size;
    tensors_.push_back({part.name, part.type, part.shape, hand_bytes(bytes, static_cast<unsigned>(tensors_.size()))});
  }
  void put(const Spelling& spelling) {
    tensors_.clear();
    put(spelling.weights);
    if (!spelling.scales.name.empty()) put(spelling.scales);
  }
  TensorIndex index() {
    write_hand_shard(dir_ / "model.safetensors", tensors_);
    return must(TensorIndex::read({(dir_ / "model.safetensors").string()}, 1));
  }
  tl::expected<StoredForm, StorageProblem> found() {
    index_ = index();
    return find_stored(*index_, {"w.weight", {300, 96}});
  }
  std::string problem() {
    const auto form = found();
    return form ? "none" : form.error().problem + form.error().missing;
  }

  test::TempDir dir_;
  std::vector<HandTensor> tensors_;
  std::optional<TensorIndex> index_;
};

TEST_F(StorageTest, EverySpellingIsRecognised) {
  for (const Spelling& spelling : kSpellings) {
    put(spelling);
    const auto form = found();
    ASSERT_TRUE(form) << spelling.weights.name << " " << spelling.scales.name << ": " << form.error().problem;
    EXPECT_EQ(format(form->format).name, format(spelling.format).name);
    EXPECT_EQ(form->weights->name(), spelling.weights.name);
    EXPECT_EQ(form->scales == nullptr, spelling.scales.name.empty());
    if (form->scales != nullptr) {
      EXPECT_EQ(form->scales->name(), spelling.scales.name);
    }
  }
}

// A block that holds rows 100..269 sees what the rows of the whole matrix are.
TEST_F(StorageTest, SlicesOfEverySpellingAreRowsOfTheWhole) {
  for (const Spelling& spelling : kSpellings) {
    put(spelling);
    index_ = index();
    Census census;
    census.walk = {{"slice", {{"w.weight", {300, 96}, 100, 170}}}};
    census.embedding = {"w.weight", {300, 96}};
    const BoundCensus bound = must(bind_census(*index_, dir_.path().string(), census, false));
    std::vector<std::byte> slot(bound.walk[0].slot_bytes);
    std::ifstream stream(dir_ / "model.safetensors", std::ios::binary);
    const std::string file(std::istreambuf_iterator<char>(stream), {});
    for (const Extent& extent : bound.walk[0].extents)
      std::memcpy(slot.data() + extent.slot_offset, file.data() + extent.offset, extent.bytes);
    const WeightView slice = bound.walk[0].view(slot.data(), 0);
    const std::string& scales = spelling.scales.name.empty() ? tensors_[0].data : tensors_[1].data;
    const WeightView whole = {spelling.format,
                              {300, 96},
                              reinterpret_cast<const std::byte*>(tensors_[0].data.data()),
                              reinterpret_cast<const std::byte*>(scales.data())};
    std::vector<float> row(96), expected(96);
    for (int r = 0; r < 170; ++r) {
      format(spelling.format).decode_row(slice, r, row);
      format(spelling.format).decode_row(whole, 100 + r, expected);
      EXPECT_EQ(std::memcmp(row.data(), expected.data(), 96 * 4), 0) << format(spelling.format).name << " row " << r;
    }
  }
}

TEST_F(StorageTest, ScalesThatAreMissingOrStrangeAreNamed) {
  put({"w.weight", "F8_E4M3", {300, 96}});
  EXPECT_EQ(problem(), "w.weight_scale_inv");
  put({"w.weight_scale_inv", "BF16", {3, 1}});
  EXPECT_THAT(problem(), AllOf(HasSubstr("w.weight_scale_inv"), HasSubstr("BF16"), HasSubstr("F32")));
  tensors_.clear();
  put({"w.weight", "I8", {300, 96}});
  EXPECT_EQ(problem(), "w.weight_scale_int8");
  put({"w.weight_scale_inv", "F32", {300}});  // of FP8: must not be taken for those of rows
  EXPECT_EQ(problem(), "w.weight_scale_int8");
}

// Two conventions fit the weights: what is missing is called as the rest of the file calls it.
TEST_F(StorageTest, MissingScalesAreNamedAsTheFileNamesOthers) {
  put({"w.weight", "I8", {300, 48}});
  put({"v.scale", "F8_E8M0", {300, 3}});
  EXPECT_EQ(problem(), "w.scale");
  tensors_.clear();
  put({"w.weight", "F8_E4M3", {300, 96}});
  put({"v.scale", "F8_E8M0", {3, 1}});
  EXPECT_EQ(problem(), "w.scale");
}

TEST_F(StorageTest, ScalesOfTheWrongShapeAreRefused) {
  for (const Spelling& spelling : kSpellings) {
    if (spelling.scales.name.empty()) continue;
    Spelling wrong = spelling;
    wrong.scales.shape.front() += 1;
    put(wrong);
    EXPECT_THAT(problem(), AllOf(HasSubstr(wrong.scales.name), HasSubstr("has shape"))) << wrong.scales.name;
    wrong = spelling;
    wrong.scales.shape = {spelling.scales.shape.front(), 7};
    put(wrong);
    EXPECT_THAT(problem(), AllOf(HasSubstr(wrong.scales.name), HasSubstr("has shape"))) << wrong.scales.name;
  }
}

TEST_F(StorageTest, TwoFormsOfOneTensorAreRefused) {
  put(kSpellings[1]);
  put({"w.weight_packed", "U8", {300, 48}});
  EXPECT_THAT(problem(), HasSubstr("two forms of one tensor"));
}

}  // namespace
}  // namespace sluice
