// Checksums as a user meets them: a changed byte that is a number like any other is an error with a name, never a
// changed token.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "support/damage.h"
#include "support/directory_contents.h"
#include "support/plain_safetensors.h"
#include "support/sluice_program.h"
#include "support/temp_dir.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

void expect_told(const Outcome& outcome, const std::vector<std::string>& words) {
  EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
  for (const std::string& word : words)
    EXPECT_NE(outcome.err.find(word), std::string::npos) << "does not tell of " << word << ":\n" << outcome.err;
}

// A demo of each family with checksums: written beside it, or by packing it.
class SummedModel : public testing::TestWithParam<std::tuple<const char*, bool>> {
 protected:
  SummedModel() {
    const auto& [family, packed] = GetParam();
    const Subject& source = subject(family);
    if (packed) {
      must_succeed({"pack", source.model.string(), model().string(), "--shard-size", "1M"});
    } else {
      copy_checkpoint(source.model, model());
      must_succeed({"verify", model().string(), "--write"});
    }
    tensors_ = read_plain_checkpoint(model());
  }
  static void must_succeed(const Arguments& arguments) {
    const Outcome outcome = sluice(arguments);
    if (outcome.exit_code != 0) throw std::runtime_error(outcome.err);
  }

  fs::path model() const { return scratch_ / "model"; }
  Outcome run() const { return sluice({"run", model().string(), "--ids", "5,6,7,5,9", "--max-tokens", "4"}); }
  // Changes the lowest bit of the first byte at `place`, and tells in which file.
  std::string change(const PlainTensor& tensor, std::uint64_t place = 0) const {
    std::fstream file(tensor.file, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(tensor.offset + place));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(tensor.offset + place));
    file.put(static_cast<char>(byte ^ 1));
    if (!file) throw std::runtime_error("cannot change a byte");
    return tensor.file.filename().string();
  }
  void expect_found(const std::string& shard, const std::string& block) const {
    expect_told(run(), {shard, block, "do not match their checksum"});
    const Outcome verified = sluice({"verify", model().string()});
    expect_told(verified, {shard});
    EXPECT_NE(verified.out.find(block), std::string::npos) << verified.out;
    EXPECT_NE(verified.out.find(shard), std::string::npos) << verified.out;
  }
  std::vector<const PlainTensor*> routed_experts() const {
    std::vector<const PlainTensor*> found;
    for (const auto& [name, tensor] : tensors_)
      if (name.find(".experts.") != std::string::npos && name.find("scale") == std::string::npos && tensor.bytes > 0)
        found.push_back(&tensor);
    return found;
  }

  std::map<std::string, PlainTensor> tensors_;

 private:
  TempDir scratch_;
};

TEST_P(SummedModel, UnchangedItAnswersAsWithout) {
  const Arguments request = subject(std::get<0>(GetParam())).prompt + Arguments{"--max-tokens", "5"};
  const std::string expected = generated(subject(std::get<0>(GetParam())).model, request).answer();
  EXPECT_EQ(generated(model(), request).answer(), expected);
  const Setting tight{.budget = 0};
  EXPECT_EQ(generated(model(), request + flags_of(tight, model())).answer(), expected);
  const Outcome verified = sluice({"verify", model().string()});
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_NE(verified.out.find("checksums match"), std::string::npos) << verified.out;
}

TEST_P(SummedModel, AChangedExpertIsNamed) {
  const std::vector<const PlainTensor*> experts = routed_experts();
  ASSERT_FALSE(experts.empty());
  for (const PlainTensor* tensor : experts) change(*tensor, tensor->bytes / 2);
  expect_told(run(), {".safetensors", "expert ", "do not match their checksum"});
  for (const PlainTensor* tensor : experts) change(*tensor, tensor->bytes / 2);
  EXPECT_EQ(run().exit_code, 0);
  const std::string shard = change(*experts.back(), experts.back()->bytes - 1);
  const Outcome verified = sluice({"verify", model().string()});
  expect_told(verified, {shard});
  EXPECT_NE(verified.out.find("expert "), std::string::npos) << verified.out;
}

TEST_P(SummedModel, AChangedTrunkIsNamed) {
  const PlainTensor* largest = nullptr;
  for (const auto& [name, tensor] : tensors_)
    if (name.find(".layers.0.") != std::string::npos || name.starts_with("layers.0."))
      if (name.find("experts") == std::string::npos && name.find("tid2eid") == std::string::npos &&
          (largest == nullptr || tensor.bytes > largest->bytes))
        largest = &tensor;
  ASSERT_NE(largest, nullptr);
  expect_found(change(*largest), "layer 0");
}

TEST_P(SummedModel, AChangedRowOfTheEmbeddingIsNamedWhereItIsRead) {
  const PlainTensor* table = nullptr;
  for (const auto& [name, tensor] : tensors_)
    if (name.find("embed") != std::string::npos) table = &tensor;
  ASSERT_NE(table, nullptr);
  const std::uint64_t row = table->bytes / table->shape.at(0);
  change(*table, 4 * row);  // of a token that is not in the prompt, and hardly in the answer
  const Outcome outcome = run();
  EXPECT_TRUE(outcome.exit_code == 0 || outcome.err.find("row 4 ") != std::string::npos) << outcome.err;
  change(*table, 4 * row);
  expect_found(change(*table, 5 * row + 1), "row 5 of");
}

INSTANTIATE_TEST_SUITE_P(OfEveryFamily, SummedModel, testing::Combine(testing::ValuesIn(kFamilies), testing::Bool()),
                         [](const auto& tested) {
                           std::string name = std::get<0>(tested.param);
                           for (char& letter : name)
                             if (letter == '-' || letter == '.') letter = '_';
                           return name + (std::get<1>(tested.param) ? "_packed" : "");
                         });

class ChecksumsCommand : public testing::Test {
 protected:
  ChecksumsCommand() {
    copy_checkpoint(fs::path(SLUICE_SOURCE_DIR) / "demo/deepseek-v4", model());
    EXPECT_EQ(sluice({"verify", model().string(), "--write"}).exit_code, 0);
  }
  fs::path model() const { return scratch_ / "model"; }
  fs::path sums() const { return model() / "sluice.checksums"; }
  Outcome run() const { return sluice({"run", model().string(), "--ids", "5,6", "--max-tokens", "1"}); }

  TempDir scratch_;
};

// Which experts a token is sent to: another expert of the same range would be another answer.
TEST_F(ChecksumsCommand, AChangedTableOfIdsIsNamed) {
  for (const auto& [name, tensor] : read_plain_checkpoint(model())) {
    if (name.find("tid2eid") == std::string::npos) continue;
    std::fstream file(tensor.file, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(tensor.offset));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(tensor.offset));
    file.put(static_cast<char>(byte ^ 1));
    file.close();
    return expect_told(run(), {name, tensor.file.filename().string(), "do not match their checksum"});
  }
  FAIL() << "the model has no such table";
}

TEST_F(ChecksumsCommand, ADamagedFileOfChecksumsIsOneSentence) {
  flip_byte(sums(), fs::file_size(sums()) / 2);
  expect_told(run(), {"sluice.checksums", "is damaged", "verify MODEL --write"});
  expect_told(sluice({"verify", model().string()}), {"sluice.checksums", "is damaged"});
  EXPECT_EQ(sluice({"verify", model().string(), "--write"}).exit_code, 0);
  EXPECT_EQ(run().exit_code, 0);
  fs::remove(sums());
  EXPECT_EQ(run().exit_code, 0);
}

TEST_F(ChecksumsCommand, ThoseOfAnotherModelAreOneSentence) {
  const fs::path other = scratch_ / "other";
  copy_checkpoint(demo_model(), other);
  ASSERT_EQ(sluice({"verify", other.string(), "--write"}).exit_code, 0);
  fs::copy_file(other / "sluice.checksums", sums(), fs::copy_options::overwrite_existing);
  expect_told(run(), {"sluice.checksums", "belongs to other shards", "verify MODEL --write"});
}

// Another seed: names, sizes and places are the same, all weights are others.
TEST_F(ChecksumsCommand, ThoseOlderThanTheShardsAreToldAtTheFirstBlock) {
  const fs::path first = scratch_ / "first", second = scratch_ / "second";
  synthesize("glm-5.2", first, {"--layers", "4", "--experts", "4", "--seed", "1"});
  synthesize("glm-5.2", second, {"--layers", "4", "--experts", "4", "--seed", "2"});
  ASSERT_EQ(sluice({"verify", first.string(), "--write"}).exit_code, 0);
  fs::copy_file(first / "sluice.checksums", second / "sluice.checksums");
  const Outcome outcome = sluice({"run", second.string(), "--ids", "1,2", "--max-tokens", "1"});
  expect_told(outcome, {".safetensors", "do not match their checksum", "if it was replaced on purpose"});
  EXPECT_EQ(outcome.out, "");
}

// Weights that cannot be are not sealed.
TEST_F(ChecksumsCommand, DamagedWeightsGetNone) {
  const auto before = directory_contents(model()).at("sluice.checksums");
  for (const auto& [name, tensor] : read_plain_checkpoint(model()))
    if (tensor.dtype == "BF16" && name.find("norm") != std::string::npos) {
      overwrite(tensor.file, tensor.offset, "\xff\x7f");
      break;
    }
  expect_told(sluice({"verify", model().string(), "--write"}), {"not finite", "no checksums were written"});
  EXPECT_EQ(directory_contents(model()).at("sluice.checksums"), before);
}

// Damage that came after the checksums were written is not made good by writing them again.
TEST_F(ChecksumsCommand, ChangedWeightsDoNotReplaceThem) {
  EXPECT_EQ(sluice({"verify", model().string(), "--write"}).exit_code, 0);
  const auto before = directory_contents(model()).at("sluice.checksums");
  const auto tensors = read_plain_checkpoint(model());
  const auto expert = std::ranges::find_if(tensors, [](const auto& one) {
    return one.first.find(".experts.") != std::string::npos && one.first.find("scale") == std::string::npos;
  });
  ASSERT_NE(expert, tensors.end());
  flip_byte(expert->second.file, expert->second.offset);
  const Outcome refused = sluice({"verify", model().string(), "--write"});
  expect_told(refused, {expert->second.file.filename().string(), "expert ", "do not match their checksum",
                        "no checksums were written", sums().string()});
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(directory_contents(model()).at("sluice.checksums"), before);
  fs::remove(sums());
  EXPECT_EQ(sluice({"verify", model().string(), "--write"}).exit_code, 0);
  EXPECT_EQ(sluice({"verify", model().string()}).exit_code, 0);
}

// A copy by conversion does not take along what is true of its source alone.
TEST_F(ChecksumsCommand, AConversionDoesNotTakeThemAlong) {
  const fs::path out = scratch_ / "out";
  ASSERT_EQ(sluice({"convert", model().string(), out.string(), "--experts", "keep"}).exit_code, 0);
  EXPECT_FALSE(fs::exists(out / "sluice.checksums"));
}

}  // namespace
}  // namespace sluice::test
