// Tests of the conversion of a whole checkpoint: what is written, against a quantiser of its own; resuming; refusals.
#include "checkpoint/convert.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "checkpoint/compare_weights.h"
#include "checkpoint/converted_config.h"
#include "checkpoint/fingerprint.h"
#include "checkpoint/safetensors_dir.h"
#include "formats/format.h"
#include "support/must.h"
#include "support/naive_quantiser.h"
#include "support/plain_safetensors.h"
#include "support/shard_by_hand.h"
#include "support/temp_dir.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using test::HandTensor, test::must, test::naive_decode, test::naive_encode, test::NaiveMatrix, test::NaiveStored;
using test::PlainTensor, test::read_plain_bytes, test::read_plain_checkpoint;
using testing::AllOf, testing::HasSubstr;

// The vocabulary is long enough that its matrices are converted in several bands.
constexpr int kLayers = 2, kExperts = 3, kWidth = 96, kInner = 160, kVocab = 3000, kOdd = 77;

struct Wanted {
  std::string name;
  TensorKind kind;
  Shape shape;
};

// A model with everything a conversion tells apart; layer 2 is the head that drafts.
std::vector<Wanted> wanted_tensors() {
  std::vector<Wanted> all = {{"embed.weight", TensorKind::io, {kVocab, kWidth}},
                             {"norm.weight", TensorKind::kept, {1, kWidth}},
                             {"router.weight", TensorKind::kept, {kExperts, kWidth}},
                             {"attention.weight", TensorKind::dense, {kInner, kWidth}},
                             {"odd.weight", TensorKind::dense, {5, kOdd}},
                             {"head.weight", TensorKind::io, {kVocab, kWidth}},
                             {"draft.weight", TensorKind::mtp, {kWidth, 2 * kWidth}}};
  for (int layer = 0; layer <= kLayers; ++layer)
    for (int expert = 0; expert < kExperts; ++expert)
      for (const char* part : {"up", "down"}) {
        const bool up = part == std::string("up");
        all.push_back({fmt::format("layers.{}.experts.{}.{}.weight", layer, expert, part),
                       layer < kLayers ? TensorKind::experts : TensorKind::mtp,
                       up ? Shape{kInner, kWidth} : Shape{kWidth, kInner}});
      }
  return all;
}

constexpr std::string_view kKept[] = {"router.weight"};

Census converted_census(bool draft) {
  Census census;
  census.walk = {{"layer",
                  {{"norm.weight", {1, kWidth}},
                   {"router.weight", {kExperts, kWidth}},
                   {"attention.weight", {kInner, kWidth}},
                   {"odd.weight", {5, kOdd}}}},
                 {"head 0", {{"head.weight", {kVocab, kWidth}, 0, 2000}}, "head"},
                 {"head 1", {{"head.weight", {kVocab, kWidth}, 2000, 1000}}, "head"}};
  if (draft) census.walk.push_back({"draft", {{"draft.weight", {kWidth, 2 * kWidth}}}});
  census.embedding = {"embed.weight", {kVocab, kWidth}};
  census.layers = kLayers + (draft ? 1 : 0);
  census.experts = kExperts;
  census.has_experts.assign(static_cast<std::size_t>(census.layers), true);
  census.expert = [](int layer, int expert) {
    const std::string prefix = fmt::format("layers.{}.experts.{}.", layer, expert);
    return BlockSpec{
        "expert", {{prefix + "up.weight", {kInner, kWidth}}, {prefix + "down.weight", {kWidth, kInner}}}, "experts"};
  };
  census.ignored = {"vision."};
  return census;
}

// Numbers of very different sizes, zeros among them, in bf16 so that every source format can hold them.
NaiveMatrix numbers_of(const Wanted& tensor) {
  NaiveMatrix matrix{tensor.shape.rows, tensor.shape.cols, {}};
  std::uint64_t state = std::hash<std::string>()(tensor.name);
  for (int number = 0; number < matrix.rows * matrix.cols; ++number) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double size = std::ldexp(1.0, -static_cast<int>(state >> 60));
    const double value = number % 19 == 0 ? 0 : (static_cast<double>(state >> 40) * 0x1p-23 - 1) * size;
    matrix.numbers.push_back(static_cast<float>(value));
  }
  return naive_decode("bf16", matrix.rows, matrix.cols, naive_encode("bf16", matrix));
}

std::vector<std::uint64_t> dims(int rows, int cols) {
  if (rows == 1) return {static_cast<std::uint64_t>(cols)};
  return {static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(cols)};
}

// As the release spells it: bf16, f32 or fp8 with a grid of scales.
void add_source(const std::string& format, const Wanted& tensor, std::vector<HandTensor>& out) {
  const NaiveMatrix matrix = numbers_of(tensor);
  const std::string as = tensor.kind == TensorKind::kept ? "bf16" : format;
  if (as != "fp8") {
    out.push_back(
        {tensor.name, as == "f32" ? "F32" : "BF16", dims(matrix.rows, matrix.cols), naive_encode(as, matrix).weights});
    return;
  }
  const int high = (matrix.rows + 127) / 128, wide = (matrix.cols + 127) / 128;
  std::string codes, scales;
  for (int number = 0; number < matrix.rows * matrix.cols; ++number)  // any code but the two that are no numbers
    codes += static_cast<char>(number % 251 % 127 | (number % 3 == 0 ? 128 : 0));
  for (int block = 0; block < high * wide; ++block) {
    const float scale = 0.013f * static_cast<float>(block + 1);
    scales.append(reinterpret_cast<const char*>(&scale), 4);
  }
  out.push_back({tensor.name, "F8_E4M3", dims(matrix.rows, matrix.cols), codes});
  out.push_back({tensor.name + "_scale_inv",
                 "F32",
                 {static_cast<std::uint64_t>(high), static_cast<std::uint64_t>(wide)},
                 scales});
}

constexpr std::uint64_t kShardBytes = 100'000;

class Convert : public testing::Test {
 protected:
  Convert() { write_source("bf16"); }

  fs::path source() const { return scratch_ / "source"; }
  fs::path out(const std::string& name = "out") const { return scratch_ / name; }

  void write_source(const std::string& format) {
    fs::remove_all(source());
    fs::create_directories(source());
    std::vector<HandTensor> first, second;
    for (const Wanted& tensor : wanted_tensors())  // experts of one layer lie in both files
      add_source(format, tensor, tensor.name.ends_with("down.weight") ? second : first);
    second.push_back({"vision.eye", "F16", {3, 1, 5}, test::hand_bytes(30, 9)});
    test::write_hand_shard(source() / "a.safetensors", first);
    test::write_hand_shard(source() / "b.safetensors", second);
    std::ofstream(source() / "config.json") << R"({"model_type": "x", "quantization_config": {"fmt": "e4m3"}})";
    std::ofstream(source() / "tokenizer.json") << "{}";
    std::ofstream(source() / "model.safetensors.index.json") << "{}";
  }

  struct Opened {
    std::unique_ptr<SafetensorsDir> checkpoint;
    std::unique_ptr<Files> files;
    std::unique_ptr<ModelCensus> census;
    std::unique_ptr<BoundCensus> bound;
    std::unique_ptr<ModelTensors> tensors;
  };
  static Opened open(const fs::path& directory) {
    Opened opened;
    opened.checkpoint = must(SafetensorsDir::open(directory.string(), 1));
    opened.files = must(open_files(opened.checkpoint->files(), IoMode::buffered));
    opened.census = std::make_unique<ModelCensus>(ModelCensus{converted_census(true), converted_census(false), kKept});
    opened.bound = std::make_unique<BoundCensus>(must(opened.checkpoint->bind(opened.census->whole, false)));
    opened.tensors = std::make_unique<ModelTensors>(*opened.census, *opened.bound);
    return opened;
  }

  static ConversionOptions all_to(const std::string& format) {
    ConversionOptions options{{}, kShardBytes};
    options.targets.fill(must(parse_target(format, "--test")));
    return options;
  }

  Result<ConversionOutcome> convert_to(const std::string& directory, const ConversionOptions& options,
                                       const ConversionRun& run = {.threads = 1}, int stop_after = -1) {
    const Opened opened = open(source());
    TRY_TAKE(const ConversionPlan plan, ConversionPlan::make(*opened.tensors, opened.checkpoint->index(), options));
    TRY_TAKE(const std::string text, read_config(source().string()));
    TRY_TAKE(const std::string print, fingerprint(text, opened.checkpoint->index(), *opened.files));
    TRY_TAKE(std::string config, converted_config(text, print, plan));
    CancelFlag cancel;
    ConversionRun stopped = run;
    if (stop_after >= 0) stopped.cancel = &cancel;
    int calls = 0;
    return convert({&plan, opened.files.get(), source().string(), out(directory).string(), std::move(config)}, stopped,
                   [&](std::uint64_t, std::uint64_t) {
                     if (calls++ == stop_after) cancel.request();
                   });
  }

  static NaiveStored stored_in(const std::map<std::string, PlainTensor>& files, const std::string& weights,
                               const std::string& scales) {
    const auto bytes = [&](const std::string& name) {
      if (!files.contains(name)) return std::string();
      const std::vector<std::byte> read = read_plain_bytes(files.at(name));
      return std::string(reinterpret_cast<const char*>(read.data()), read.size());
    };
    return {bytes(weights), bytes(scales)};
  }
  static std::map<std::string, std::string> contents(const fs::path& directory) {
    std::map<std::string, std::string> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
      std::ifstream in(entry.path(), std::ios::binary);
      files[entry.path().filename().string()] = {std::istreambuf_iterator<char>(in), {}};
    }
    return files;
  }

 private:
  test::TempDir scratch_;
};

// Names and types by docs/converted.md.
struct StoredNames {
  std::string weights, scales, dtype;
};
StoredNames stored_names(const std::string& format, const std::string& name) {
  if (format == "bf16") return {name, "", "BF16"};
  if (format == "f32") return {name, "", "F32"};
  if (format == "fp8") return {name, name + "_scale_inv", "F8_E4M3"};
  if (format == "mxfp4") return {name + "_packed", name + "_scale", "U8"};
  if (format == "int8") return {name, name + "_scale_int8", "I8"};
  return {name + "_packed", name + "_scale_" + format, "U8"};
}

class ConvertTo : public Convert, public testing::WithParamInterface<std::tuple<const char*, const char*>> {};

TEST_P(ConvertTo, IsWhatASecondQuantiserSays) {
  const std::string from = std::get<0>(GetParam()), to = std::get<1>(GetParam());
  write_source(from);
  ConversionOptions options = all_to(to);
  if (to == "mxfp4") options.targets[static_cast<std::size_t>(TensorKind::dense)] = must(parse_target("keep", ""));
  ASSERT_EQ(must(convert_to("out", options)), ConversionOutcome::written);
  const auto before = read_plain_checkpoint(source()), after = read_plain_checkpoint(out());
  for (const Wanted& tensor : wanted_tensors()) {
    SCOPED_TRACE(tensor.name);
    const bool stays = tensor.kind == TensorKind::kept || (to == "mxfp4" && tensor.kind == TensorKind::dense);
    const std::string was = tensor.kind == TensorKind::kept ? "bf16" : from, is = stays ? was : to;
    const StoredNames old = stored_names(was, tensor.name), now = stored_names(is, tensor.name);
    ASSERT_TRUE(after.contains(now.weights));
    EXPECT_EQ(after.at(now.weights).dtype, now.dtype);
    const NaiveStored source = stored_in(before, old.weights, old.scales),
                      made = stored_in(after, now.weights, now.scales);
    if (is == was) {
      EXPECT_TRUE(made.weights == source.weights);
      EXPECT_TRUE(made.scales == source.scales);
      EXPECT_EQ(after.at(now.weights).shape, before.at(old.weights).shape);
      continue;
    }
    const NaiveMatrix numbers = naive_decode(was, tensor.shape.rows, tensor.shape.cols, source);
    if (is == "fp8" || is == "mxfp4") {  // no second quantiser of these: near enough, and exact at the edges of blocks
      const NaiveMatrix near = naive_decode(is, tensor.shape.rows, tensor.shape.cols, made);
      double error = 0, all = 0;
      for (std::size_t number = 0; number < near.numbers.size(); ++number) {
        error += std::pow(static_cast<double>(near.numbers[number] - numbers.numbers[number]), 2);
        all += std::pow(static_cast<double>(numbers.numbers[number]), 2);
      }
      EXPECT_LT(std::sqrt(error / all), is == "fp8" ? 0.04 : 0.25);
      continue;
    }
    const NaiveStored expected = naive_encode(is, numbers);
    EXPECT_TRUE(made.weights == expected.weights);
    EXPECT_TRUE(made.scales == expected.scales);
  }
  EXPECT_EQ(read_plain_bytes(after.at("vision.eye")), read_plain_bytes(before.at("vision.eye")));
  EXPECT_EQ(after.at("vision.eye").shape, (std::vector<std::uint64_t>{3, 1, 5}));
  open(out());  // and it binds: every tensor is found again under its name
}

INSTANTIATE_TEST_SUITE_P(
    EveryFormat, ConvertTo,
    testing::Combine(testing::Values("bf16", "f32", "fp8"),
                     testing::Values("f32", "bf16", "fp8", "int8", "int4", "int4g32", "int4g64", "int4g128", "mxfp4")),
    [](const auto& tested) { return fmt::format("{}_to_{}", std::get<0>(tested.param), std::get<1>(tested.param)); });

TEST_F(Convert, EachKindGoesItsOwnWay) {
  ConversionOptions options{{}, kShardBytes};
  const std::pair<TensorKind, const char*> chosen[] = {{TensorKind::experts, "int4g32"},
                                                       {TensorKind::dense, "fp8"},
                                                       {TensorKind::io, "int8"},
                                                       {TensorKind::mtp, "int4"}};
  for (const auto& [kind, format] : chosen)
    options.targets[static_cast<std::size_t>(kind)] = must(parse_target(format, ""));
  must(convert_to("out", options));
  const auto after = read_plain_checkpoint(out());
  for (const Wanted& tensor : wanted_tensors()) {
    std::string format = "bf16";
    for (const auto& [kind, name] : chosen)
      if (kind == tensor.kind) format = name;
    EXPECT_TRUE(after.contains(stored_names(format, tensor.name).weights)) << tensor.name;
    EXPECT_TRUE(format == "bf16" || after.contains(stored_names(format, tensor.name).scales)) << tensor.name;
  }
  const auto config = nlohmann::json::parse(contents(out()).at("config.json"));
  EXPECT_EQ(config.at("model_type"), "x");
  EXPECT_FALSE(config.contains("quantization_config"));  // it told of what is no more
  EXPECT_EQ(config.at("sluice_conversion").at("experts").at("format"), "int4g32");
  EXPECT_EQ(config.at("sluice_conversion").at("mtp").at("format"), "int4");
}

// What is usual never makes a tensor larger: FP8 and MXFP4 stay.
TEST_F(Convert, UsuallyShrinks) {
  const auto formats_of = [&](TensorKind kind) {
    const Opened opened = open(source());
    return format_names(must(ConversionPlan::make(*opened.tensors, opened.checkpoint->index(), {})).totals(kind).after);
  };
  EXPECT_EQ(formats_of(TensorKind::experts), "int4g64");
  EXPECT_EQ(formats_of(TensorKind::dense), "int8");
  EXPECT_EQ(formats_of(TensorKind::io), "int8");
  EXPECT_EQ(formats_of(TensorKind::mtp), "int8");
  write_source("fp8");
  EXPECT_EQ(formats_of(TensorKind::experts), "int4g64");
  EXPECT_EQ(formats_of(TensorKind::io), "fp8");
}

TEST_F(Convert, ExpertsAreOneRunOfBytes) {
  must(convert_to("out", all_to("int4g32")));
  const Opened opened = open(out());
  for (int layer = 0; layer < kLayers; ++layer)
    for (int expert = 0; expert < kExperts; ++expert) {
      const BlockLayout layout = opened.bound->experts.layout(layer, expert);
      EXPECT_EQ(layout.extents.size(), 1u);
      EXPECT_EQ(layout.extents.front().bytes, layout.payload_bytes);
    }
}

TEST_F(Convert, LargeExpertsBeginOnAPage) {
  ConversionOptions options = all_to("f32");  // 122,880 bytes each; what comes before the first ends inside a page
  options.shard_bytes = 1 << 30;
  must(convert_to("out", options));
  const auto paddings_in = [&](const std::string& directory) {
    const auto files = read_plain_checkpoint(out(directory));
    return std::ranges::count_if(files, [](const auto& tensor) { return tensor.first.starts_with("sluice.padding."); });
  };
  EXPECT_EQ(paddings_in("out"), 1);
  const Opened opened = open(out());
  for (int expert = 0; expert < kExperts; ++expert) {
    const Extent extent = opened.bound->experts.layout(0, expert).extents.front();
    EXPECT_EQ(extent.offset % kDiskPage, 0u) << expert;
  }
  // Padding does not come along when the result is converted again.
  fs::rename(source(), out("first"));
  fs::rename(out(), source());
  must(convert_to("again", all_to("int8")));
  EXPECT_EQ(paddings_in("again"), 0);
}

TEST_F(Convert, ThreadsAndShardsChangeNoTensor) {
  must(convert_to("one", all_to("int4g64")));
  must(convert_to("three", all_to("int4g64"), {.threads = 3}));
  EXPECT_TRUE(contents(out("one")) == contents(out("three")));
  EXPECT_GT(contents(out("one")).size(), 5u);
  ConversionOptions whole = all_to("int4g64");
  whole.shard_bytes = 1 << 30;
  must(convert_to("whole", whole));
  const auto left = read_plain_checkpoint(out("one")), right = read_plain_checkpoint(out("whole"));
  ASSERT_EQ(left.size(), right.size());
  for (const auto& [name, tensor] : left) EXPECT_EQ(read_plain_bytes(tensor), read_plain_bytes(right.at(name))) << name;
}

TEST_F(Convert, GoesOnWhereItStopped) {
  must(convert_to("whole", all_to("int4g32")));
  int stops = 0;
  for (int after = 0; after < 60; after += 7) {
    const auto stopped = convert_to("out", all_to("int4g32"), {.threads = 1}, after);
    if (stopped) break;
    ++stops;
    EXPECT_EQ(stopped.error().kind, ErrorKind::cancelled);
    EXPECT_FALSE(fs::exists(out() / "config.json"));
  }
  EXPECT_GT(stops, 2);
  must(convert_to("out", all_to("int4g32")));
  EXPECT_TRUE(contents(out()) == contents(out("whole")));
}

TEST_F(Convert, WhatIsDoneIsDone) {
  must(convert_to("out", all_to("int8")));
  const fs::file_time_type written = fs::last_write_time(out() / "config.json");
  EXPECT_EQ(must(convert_to("out", all_to("int8"))), ConversionOutcome::already_there);
  EXPECT_EQ(fs::last_write_time(out() / "config.json"), written);
}

TEST_F(Convert, NothingIsOverwritten) {
  const auto refusal = [&](const ConversionOptions& options) {
    const auto before = contents(out());
    const auto outcome = convert_to("out", options);
    EXPECT_FALSE(outcome);
    EXPECT_TRUE(contents(out()) == before);
    return outcome ? "" : outcome.error().what;
  };
  fs::create_directories(out());
  std::ofstream(out() / "letter.txt") << "to a friend";
  EXPECT_THAT(refusal(all_to("int8")), HasSubstr("holds something else already"));
  fs::remove(out() / "letter.txt");
  must(convert_to("out", all_to("int8")));
  EXPECT_THAT(refusal(all_to("int4")), AllOf(HasSubstr("experts int8"), HasSubstr("not int4")));
  fs::rename(out() / "config.json", out() / "config.json.unfinished");
  EXPECT_THAT(refusal(all_to("int4")), HasSubstr("holds a conversion already"));
  // Another seed of the same model: every header is the same, the weights are not.
  std::fstream file(source() / "a.safetensors", std::ios::in | std::ios::out | std::ios::binary);
  for (std::uint64_t at = 4096 + 99; at < fs::file_size(source() / "a.safetensors"); at += 4096) {
    file.seekp(static_cast<std::streamoff>(at));
    file.put('\x3d');
  }
  file.close();
  EXPECT_THAT(refusal(all_to("int8")), HasSubstr("is of another source"));
}

// Killed while it wrote its first file: nothing but a trace is there.
TEST_F(Convert, ATraceOfABeginningIsNoObstacle) {
  fs::create_directories(out());
  std::ofstream(out() / "config.json.unfinished.part") << "{";
  must(convert_to("out", all_to("int8")));
  must(convert_to("whole", all_to("int8")));
  EXPECT_TRUE(contents(out()) == contents(out("whole")));
}

TEST_F(Convert, DamageIsNamed) {
  const auto damage = [&](const std::string& name, std::uint64_t offset, const std::string& bytes) {
    const PlainTensor tensor = read_plain_checkpoint(source()).at(name);
    std::fstream file(tensor.file, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(tensor.offset + offset));
    file << bytes;
  };
  const auto refusal = [&](const ConversionOptions& options) {
    const auto outcome = convert_to("out", options);
    EXPECT_FALSE(outcome);
    EXPECT_FALSE(fs::exists(out() / "config.json"));
    fs::remove_all(out());
    if (outcome) return std::string();
    EXPECT_EQ(outcome.error().kind, ErrorKind::corrupt);
    return outcome.error().what;
  };
  const std::string name = "layers.1.experts.2.down.weight";
  damage(name, 2 * (kInner * 7 + 3), std::string("\x80\x7f", 2));  // bf16 infinity in row 7
  EXPECT_THAT(refusal(all_to("int4g64")), AllOf(HasSubstr("b.safetensors"), HasSubstr(name), HasSubstr("row 7")));
  EXPECT_THAT(refusal(all_to("keep")), HasSubstr(name));
  write_source("fp8");
  damage(name + "_scale_inv", 4, std::string("\x00\x00\xc0\x7f", 4));  // NaN
  EXPECT_THAT(refusal(all_to("int8")), AllOf(HasSubstr("b.safetensors"), HasSubstr(name), HasSubstr("scale")));
  write_source("fp8");
  damage("router.weight", 0, std::string("\x80\x7f", 2));  // what stays is looked at too
  EXPECT_THAT(refusal(all_to("int8")), HasSubstr("router.weight"));
}

TEST_F(Convert, AFormatThatDoesNotFitIsRefusedFirst) {
  const auto outcome = convert_to("out", all_to("mxfp4"));
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().what, AllOf(HasSubstr("odd.weight has 77 columns"), HasSubstr("multiple of 32")));
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(Convert, TheReportFindsWhatWasLost) {
  must(convert_to("out", all_to("int8")));
  const Opened before = open(source()), after = open(out());
  const auto report = [&](const Opened& left, const Opened& right, int threads) {
    return must(compare_weights({left.tensors.get(), left.files.get()}, {right.tensors.get(), right.files.get()},
                                {.threads = threads}, [](std::uint64_t) {}));
  };
  const auto same = report(before, before, 2), lost = report(before, after, 2), again = report(before, after, 1);
  for (std::size_t kind = 0; kind < same.size(); ++kind) {
    EXPECT_EQ(same[kind].relative(), 0);
    EXPECT_EQ(lost[kind].relative(), again[kind].relative());  // to the last bit, whatever the threads
    EXPECT_EQ(lost[kind].largest, again[kind].largest);
  }
  EXPECT_EQ(lost[static_cast<std::size_t>(TensorKind::kept)].relative(), 0);
  double error = 0, all = 0, largest = 0;
  const auto files = read_plain_checkpoint(out());
  for (const Wanted& tensor : wanted_tensors()) {
    if (tensor.kind != TensorKind::experts) continue;
    const NaiveMatrix numbers = numbers_of(tensor);
    const NaiveMatrix made =
        naive_decode("int8", numbers.rows, numbers.cols, stored_in(files, tensor.name, tensor.name + "_scale_int8"));
    for (std::size_t number = 0; number < numbers.numbers.size(); ++number) {
      const double apart = static_cast<double>(made.numbers[number] - numbers.numbers[number]);
      error += apart * apart;
      all += std::pow(static_cast<double>(numbers.numbers[number]), 2);
      largest = std::max(largest, std::fabs(apart));
    }
  }
  const KindError& experts = lost[static_cast<std::size_t>(TensorKind::experts)];
  EXPECT_EQ(experts.tensors, 2u * kLayers * kExperts);
  EXPECT_NEAR(experts.relative(), std::sqrt(error / all), 1e-12);
  EXPECT_EQ(experts.largest, largest);
  EXPECT_THAT(experts.largest_in, HasSubstr(".experts."));
}

}  // namespace
}  // namespace sluice
