// What the index finds in good headers, and how it refuses damaged ones: always corrupt, always with the file's name.
#include "checkpoint/tensor_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/must.h"
#include "support/shard_by_hand.h"
#include "support/temp_dir.h"

namespace sluice {
namespace {

using test::hand_bytes, test::hand_data, test::hand_header, test::HandTensor, test::must, test::write_hand_shard;
using testing::AllOf, testing::ElementsAre, testing::HasSubstr;

class TensorIndexTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (dir_ / name).string(); }

  // The error of indexing one file with this header and data. Whatever happens, it must be corrupt and name the file.
  std::string refusal(const std::string& header, const std::string& data) const {
    write_hand_shard(dir_ / "bad.safetensors", header, data);
    return refusal();
  }
  std::string refusal() const {
    const auto index = TensorIndex::read({path("bad.safetensors")}, 1);
    EXPECT_FALSE(index);
    if (index) return "";
    EXPECT_EQ(index.error().kind, ErrorKind::corrupt);
    EXPECT_THAT(index.error().what, HasSubstr("bad.safetensors"));
    return index.error().what;
  }
  // A header with one tensor whose entry is `fields`.
  std::string refused_entry(const std::string& fields) const {
    return refusal(R"({"good":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"odd":{)" + fields + "}}",
                   std::string(12, 'x'));
  }

  test::TempDir dir_;
};

TEST_F(TensorIndexTest, FindsEveryTensorOfEveryFile) {
  const std::vector<HandTensor> first = {{"conv", "F32", {3, 1, 4}, hand_bytes(48, 1)},
                                         {"w", "BF16", {2, 5}, hand_bytes(20, 2)}};
  const std::vector<HandTensor> second = {{"scalar", "F32", {}, hand_bytes(4, 3)},
                                          {"empty", "U8", {0, 7}, ""},
                                          {"five", "U8", {1, 2, 1, 2, 3}, hand_bytes(12, 4)}};
  write_hand_shard(dir_ / "a.safetensors", first);
  write_hand_shard(dir_ / "b.safetensors", second);
  for (int threads : {1, 2, 5}) {
    const TensorIndex index = must(TensorIndex::read({path("a.safetensors"), path("b.safetensors")}, threads));
    ASSERT_EQ(index.count(), 5u);
    const TensorRecord* w = index.find("w");
    ASSERT_NE(w, nullptr);
    EXPECT_EQ(w->offset, 8 + hand_header(first).size() + 48);
    EXPECT_EQ(w->bytes, 20u);
    EXPECT_EQ(w->file, 0);
    EXPECT_EQ(w->dtype, Dtype::bf16);
    EXPECT_THAT(index.shape(*w), ElementsAre(2, 5));
    EXPECT_THAT(index.shape(*index.find("five")), ElementsAre(1, 2, 1, 2, 3));
    EXPECT_EQ(index.shape(*index.find("scalar")).size(), 0u);
    EXPECT_EQ(index.find("five")->file, 1);
    EXPECT_EQ(index.find("W"), nullptr);
    for (std::size_t number = 0; number < index.count(); ++number) {
      EXPECT_EQ(index.number(index.tensor(number)), number);
      EXPECT_EQ(index.find(index.tensor(number).name()), &index.tensor(number));
    }
  }
}

TEST_F(TensorIndexTest, FindsAllOfManyNames) {
  std::vector<HandTensor> tensors;
  for (int tensor = 0; tensor < 3000; ++tensor) tensors.push_back({"t" + std::to_string(tensor), "U8", {1}, "x"});
  write_hand_shard(dir_ / "a.safetensors", tensors);
  const TensorIndex index = must(TensorIndex::read({path("a.safetensors")}, 1));
  for (const HandTensor& tensor : tensors) {
    ASSERT_NE(index.find(tensor.name), nullptr);
    EXPECT_EQ(index.find(tensor.name)->name(), tensor.name);
  }
  EXPECT_EQ(index.find("t3000"), nullptr);
}

TEST_F(TensorIndexTest, AcceptsMetadataEscapesHolesAndAnyOrder) {
  write_hand_shard(dir_ / "a.safetensors",
                   R"( {"z":{"shape":[2],"data_offsets":[6,8],"dtype":"U8"},"__metadata__":{"format":"pt"},)"
                   R"("a\u0062\"":{"dtype":"U8","shape":[ 3 ],"data_offsets":[0,3]}}   )",
                   std::string(8, 'x'));
  const TensorIndex index = must(TensorIndex::read({path("a.safetensors")}, 1));
  EXPECT_EQ(index.count(), 2u);
  EXPECT_NE(index.find("ab\""), nullptr);
}

TEST_F(TensorIndexTest, RefusesHeaderLengths) {
  std::ofstream(path("bad.safetensors")) << "1234567";
  EXPECT_THAT(refusal(), HasSubstr("7 bytes"));
  std::ofstream(path("bad.safetensors")) << std::string("\x10\0\0\0\0\0\0\0{}", 10);
  EXPECT_THAT(refusal(), HasSubstr("14 bytes earlier"));
  std::ofstream(path("bad.safetensors")) << std::string("\0\0\0\0\0\0\0\x80{}", 10);
  EXPECT_THAT(refusal(), HasSubstr("absurd"));
  std::ofstream(path("bad.safetensors")) << std::string("\0\0\0\0\0\0\0\0", 8);
  EXPECT_THAT(refusal(), HasSubstr("JSON"));
}

// A damaged length moves the begin of the data: padded headers still parse, and every weight would be shifted.
TEST_F(TensorIndexTest, RefusesAHeaderLengthThatCutsOnlyPadding) {
  const std::vector<HandTensor> tensors = {{"w", "U8", {4}, "abcd"}};
  write_hand_shard(dir_ / "bad.safetensors", hand_header(tensors) + "  ", "abcd");
  EXPECT_TRUE(TensorIndex::read({path("bad.safetensors")}, 1));
  EXPECT_THAT(refusal(hand_header(tensors) + " ", " abcd"), HasSubstr("1 bytes follow the last tensor"));
}

TEST_F(TensorIndexTest, RefusesWhatIsNotAHeader) {
  EXPECT_THAT(refusal("[]", ""), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal("12", ""), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal("{", ""), HasSubstr("JSON"));
  EXPECT_THAT(refusal("   ", ""), HasSubstr("JSON"));
  EXPECT_THAT(refusal("{}}", ""), HasSubstr("JSON"));
  EXPECT_THAT(refusal("{} {}", ""), HasSubstr("JSON"));
  EXPECT_THAT(refusal("{\"\xff\":1}", ""), HasSubstr("JSON"));
  EXPECT_THAT(refusal("{\"a\":1}", ""), HasSubstr("'a'"));
  EXPECT_THAT(refusal(R"({"__metadata__":{"a":1}})", ""), HasSubstr("__metadata__"));
  EXPECT_THAT(refusal(R"({"__metadata__":[]})", ""), HasSubstr("__metadata__"));
  EXPECT_THAT(refusal("{\"a\":" + std::string(5000, '[') + std::string(5000, ']') + "}", ""), HasSubstr("'a'"));
  EXPECT_THAT(refusal("{\"a\":" + std::string(50000, '{'), ""), HasSubstr("bad.safetensors"));
  EXPECT_THAT(refusal(R"({"good":{"dtype":"U8","shape":[1],"data_offsets":[0,1]};})", "x"), HasSubstr("'good'"));
}

TEST_F(TensorIndexTest, RefusesEntries) {
  const auto says = [](const char* text) { return AllOf(HasSubstr("'odd'"), HasSubstr(text)); };
  EXPECT_THAT(refused_entry(R"("dtype":"U9","shape":[8],"data_offsets":[4,12])"), says("dtype 'U9'"));
  EXPECT_THAT(refused_entry(R"("dtype":7,"shape":[8],"data_offsets":[4,12])"), says("kind"));
  EXPECT_THAT(refused_entry(R"("shape":[8],"data_offsets":[4,12])"), says("lacks dtype"));
  EXPECT_THAT(refused_entry(R"("dtype":"U8","data_offsets":[4,12])"), says("lacks shape"));
  EXPECT_THAT(refused_entry(R"("dtype":"U8","shape":[8])"), says("lacks data_offsets"));
  EXPECT_THAT(refused_entry(R"("dtype":"U8","shape":[8],"data_offsets":[4,12],"shape":[8])"), says("shape twice"));
  EXPECT_THAT(refused_entry(R"("dtype":"U8","shape":[8],"data_offsets":[4,12],"more":1)"), says("field"));
  EXPECT_THAT(refused_entry(R"("dtype":"U8","shape":[7],"data_offsets":[4,12])"), says("needs 7 bytes"));
  EXPECT_THAT(refused_entry(R"("dtype":"BF16","shape":[8],"data_offsets":[4,12])"), says("needs 16 bytes"));
  EXPECT_THAT(refused_entry(R"("dtype":"F4","shape":[15],"data_offsets":[4,12])"), says("data_offsets hold 8"));
  EXPECT_THAT(refused_entry(R"("dtype":"F4","shape":[17],"data_offsets":[4,12])"), says("data_offsets hold 8"));
  EXPECT_THAT(refused_entry(R"("dtype":"U8","shape":[-8],"data_offsets":[4,12])"), says("not a size"));
  EXPECT_THAT(refused_entry(R"("dtype":"U8","shape":[8.0],"data_offsets":[4,12])"), says("not a size"));
  EXPECT_THAT(refused_entry(R"("dtype":"U8","shape":["8"],"data_offsets":[4,12])"), says("not a size"));
  EXPECT_THAT(refused_entry(R"("dtype":"U8","shape":[99999999999999999999],"data_offsets":[4,12])"), says("shape"));
  EXPECT_THAT(refused_entry(R"("dtype":"U8","shape":[4294967296],"data_offsets":[4,12])"), says("4294967296"));
  EXPECT_THAT(refused_entry(R"("dtype":"U8","shape":[4294967295,4294967295,4294967295],"data_offsets":[4,12])"),
              says("absurdly"));
  EXPECT_THAT(refused_entry(R"("dtype":"U8","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,8],"data_offsets":[4,12])"),
              says("16 sizes"));
  EXPECT_THAT(refused_entry(R"("dtype":"U8","shape":[8],"data_offsets":[12,4])"), says("before it begins"));
  EXPECT_THAT(refused_entry(R"("dtype":"U8","shape":[8],"data_offsets":[4])"), says("two numbers"));
  EXPECT_THAT(refused_entry(R"("dtype":"U8","shape":[8],"data_offsets":[4,12,12])"), says("two numbers"));
  EXPECT_THAT(refused_entry(R"("dtype":"U8","shape":[8],"data_offsets":[-4,4])"), says("not an offset"));
  EXPECT_THAT(refused_entry(R"("dtype":"U8","shape":[8],"data_offsets":[18446744073709551608,18446744073709551615])"),
              says("beyond any file"));
}

TEST_F(TensorIndexTest, RefusesPlacesOutsideTheFileAndOverlaps) {
  const std::string fields = R"("dtype":"U8","shape":[8],"data_offsets":)";
  EXPECT_THAT(refused_entry(fields + "[5,13]"), AllOf(HasSubstr("cut short: 1 byte is"), HasSubstr("'odd'")));
  EXPECT_THAT(refused_entry(fields + "[1000000,1000008]"), HasSubstr("cut short: 999,996 bytes"));
  EXPECT_THAT(refused_entry(fields + "[3,11]"), AllOf(HasSubstr("'odd'"), HasSubstr("'good'"), HasSubstr("overlap")));
  EXPECT_THAT(refused_entry(fields + "[0,8]"), HasSubstr("overlap"));
  EXPECT_THAT(
      refusal(
          R"({"b":{"dtype":"U8","shape":[8],"data_offsets":[4,12]},"a":{"dtype":"U8","shape":[5],"data_offsets":[0,5]}})",
          std::string(12, 'x')),
      HasSubstr("tensors 'a' and 'b' overlap"));
}

TEST_F(TensorIndexTest, SaysHowMuchOfACutFileIsMissing) {
  const std::vector<HandTensor> tensors = {{"head", "U8", {100}, hand_bytes(100, 1)},
                                           {"tail", "F32", {50}, hand_bytes(200, 2)}};
  write_hand_shard(dir_ / "bad.safetensors", tensors);
  std::filesystem::resize_file(dir_ / "bad.safetensors", std::filesystem::file_size(dir_ / "bad.safetensors") - 7);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("7 bytes are missing"), HasSubstr("'tail'")));
}

TEST_F(TensorIndexTest, RefusesNamesThatOccurTwice) {
  EXPECT_THAT(
      refusal(
          R"({"twin":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"twin":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
          "xx"),
      HasSubstr("'twin' occurs twice"));
  write_hand_shard(dir_ / "a.safetensors", {{"x", "U8", {1}, "a"}, {"both", "U8", {1}, "b"}});
  write_hand_shard(dir_ / "b.safetensors", {{"both", "U8", {1}, "c"}});
  const auto index = TensorIndex::read({path("a.safetensors"), path("b.safetensors")}, 2);
  ASSERT_FALSE(index);
  EXPECT_EQ(index.error().kind, ErrorKind::corrupt);
  EXPECT_THAT(index.error().what, AllOf(HasSubstr("'both'"), HasSubstr("a.safetensors"), HasSubstr("b.safetensors")));
}

TEST_F(TensorIndexTest, NamesEveryDamagedFile) {
  write_hand_shard(dir_ / "a.safetensors", "{", "");
  write_hand_shard(dir_ / "b.safetensors", "{}", "");
  write_hand_shard(dir_ / "c.safetensors", "{", "");
  const auto index = TensorIndex::read({path("a.safetensors"), path("b.safetensors"), path("c.safetensors")}, 2);
  ASSERT_FALSE(index);
  EXPECT_THAT(index.error().what,
              AllOf(HasSubstr("a.safetensors: "), HasSubstr("1 more file cannot be used either: c.safetensors")));
}

TEST_F(TensorIndexTest, TellsAFileThatCannotBeOpened) {
  const auto index = TensorIndex::read({path("nowhere.safetensors")}, 1);
  ASSERT_FALSE(index);
  EXPECT_EQ(index.error().kind, ErrorKind::io);
  EXPECT_THAT(index.error().what, HasSubstr("nowhere.safetensors"));
}

TEST(InQuotes, KeepsControlCharactersOffTheTerminal) {
  EXPECT_EQ(in_quotes("a\x1b[2Jb\n"), "'a\\x1b[2Jb\\x0a'");
  EXPECT_LT(in_quotes(std::string(5000, 'n')).size(), 300u);
}

}  // namespace
}  // namespace sluice
