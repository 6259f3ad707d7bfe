// Conversion of whole models: every kind of tensors of every family in every format, against a quantiser of its own;
// and the bytes that the released GLM-5.2 would take, by its config alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "checkpoint/convert.h"
#include "checkpoint/converted_config.h"
#include "checkpoint/synth.h"
#include "engine/open_tensors.h"
#include "formats/format.h"
#include "models/glm_dsa/synth.h"
#include "models/kimi_k3/synth.h"
#include "models/olmoe/synth.h"
#include "models/registry.h"
#include "support/must.h"
#include "support/naive_quantiser.h"
#include "support/plain_safetensors.h"
#include "support/released_glm.h"
#include "support/temp_dir.h"

namespace sluice {
namespace {

using test::must, test::naive_decode, test::naive_encode, test::NaiveMatrix, test::NaiveStored, test::PlainTensor;

struct ConvertedFamily {
  const char* name;
  Result<SynthCheckpoint> (*synth)(const SynthOptions&);
};
constexpr ConvertedFamily kConvertedFamilies[] = {
    {"kimi_k3", kimi_k3::synth_checkpoint}, {"glm_dsa", glm_dsa::synth_checkpoint}, {"olmoe", olmoe::synth_checkpoint}};
constexpr const char* kFormats[] = {"f32", "bf16", "fp8", "int8", "int4", "int4g32", "int4g64", "int4g128", "mxfp4"};

using PlainFiles = std::map<std::string, PlainTensor>;

std::string bytes_of(const PlainFiles& files, const std::string& name) {
  if (!files.contains(name)) return "";
  const std::vector<std::byte> bytes = test::read_plain_bytes(files.at(name));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// By docs/converted.md.
NaiveStored stored(const PlainFiles& files, const std::string& format, const std::string& name) {
  if (format == "bf16" || format == "f32") return {bytes_of(files, name), ""};
  if (format == "fp8") return {bytes_of(files, name), bytes_of(files, name + "_scale_inv")};
  if (format == "mxfp4") return {bytes_of(files, name + "_packed"), bytes_of(files, name + "_scale")};
  if (format == "int8") return {bytes_of(files, name), bytes_of(files, name + "_scale_int8")};
  return {bytes_of(files, name + "_packed"), bytes_of(files, name + "_scale_" + format)};
}

class ConversionLaw : public testing::TestWithParam<std::tuple<int, const char*>> {
 protected:
  std::filesystem::path source() const { return scratch_ / "source"; }
  std::filesystem::path out() const { return scratch_ / "out"; }

 private:
  test::TempDir scratch_;
};

// All kinds to one format; those with a width that the format cannot take are kept.
ConversionOptions conversion_options(const OpenTensors& model, const std::string& format) {
  ConversionOptions options{{}, 1 << 20};
  for (int kind = 0; kind < kTensorKinds; ++kind) {
    Target& target = options.targets[static_cast<std::size_t>(kind)];
    target = must(parse_target(format, ""));
    if (!ConversionPlan::make(*model.tensors, model.checkpoint->index(), options))
      target = must(parse_target("keep", ""));
  }
  return options;
}

void expect_converted(const ModelTensor& tensor, const std::string& to, const PlainFiles& before,
                      const PlainFiles& after) {
  const std::string from(format(tensor.format).name);
  const NaiveStored was = stored(before, from, tensor.name), is = stored(after, to, tensor.name);
  ASSERT_FALSE(is.weights.empty());
  if (from == to) {
    EXPECT_EQ(is.weights, was.weights);
    EXPECT_EQ(is.scales, was.scales);
    return;
  }
  const NaiveMatrix numbers = naive_decode(from, tensor.shape.rows, tensor.shape.cols, was);
  if (to == "fp8" || to == "mxfp4") {
    const NaiveMatrix made = naive_decode(to, tensor.shape.rows, tensor.shape.cols, is);
    double error = 0, all = 0;
    for (std::size_t number = 0; number < made.numbers.size(); ++number) {
      const auto wanted = static_cast<double>(numbers.numbers[number]);
      error +=
          (static_cast<double>(made.numbers[number]) - wanted) * (static_cast<double>(made.numbers[number]) - wanted);
      all += wanted * wanted;
    }
    EXPECT_LE(error, all * (to == "fp8" ? 0.0016 : 0.04));
    return;
  }
  const NaiveStored wanted = naive_encode(to, numbers);
  EXPECT_TRUE(is.weights == wanted.weights);
  EXPECT_TRUE(is.scales == wanted.scales);
}

TEST_P(ConversionLaw, IsWhatASecondQuantiserSays) {
  const ConvertedFamily& family = kConvertedFamilies[std::get<0>(GetParam())];
  const SynthCheckpoint synth = must(family.synth({.layers = 4, .experts = 3}));
  must(write_synth(synth, source().string(), {.threads = 1, .durability = Durability::cached}, [](auto, auto) {}));
  const OpenTensors model = must(open_tensors(source().string(), 1));
  const ConversionOptions options = conversion_options(model, std::get<1>(GetParam()));
  const ConversionPlan plan = must(ConversionPlan::make(*model.tensors, model.checkpoint->index(), options));
  must(convert({&plan, model.files.get(), source().string(), out().string(),
                must(converted_config(model.config_text, "-", plan))},
               {.threads = 2, .durability = Durability::cached}, [](auto, auto) {}));

  const OpenTensors made = must(open_tensors(out().string(), 1));
  const PlainFiles before = test::read_plain_checkpoint(source()), after = test::read_plain_checkpoint(out());
  std::array<int, kTensorKinds> seen{};
  ASSERT_EQ(made.tensors->blocks(), model.tensors->blocks());
  for (std::size_t block = 0; block < model.tensors->blocks(); ++block) {
    const TensorBlock now = made.tensors->block(block);
    for (std::size_t place = 0; place < now.size(); ++place) {
      const ModelTensor tensor = model.tensors->block(block)[place];
      SCOPED_TRACE(tensor.name);
      ++seen[static_cast<std::size_t>(tensor.kind)];
      EXPECT_EQ(now[place].kind, tensor.kind);
      const Target& target = options.targets[static_cast<std::size_t>(tensor.kind)];
      const bool stays = tensor.kind == TensorKind::kept || target.choice == Target::Choice::keep;
      const FormatId to = stays ? tensor.format : target.format;
      EXPECT_EQ(now[place].format, to);
      expect_converted(tensor, std::string(format(to).name), before, after);
    }
  }
  for (const TensorKind kind : {TensorKind::experts, TensorKind::dense, TensorKind::io, TensorKind::kept})
    EXPECT_GT(seen[static_cast<std::size_t>(kind)], 0) << kind_name(kind);
  EXPECT_EQ(seen[static_cast<std::size_t>(TensorKind::mtp)] > 0, model.config->has_draft_head());
}

INSTANTIATE_TEST_SUITE_P(EveryFamilyAndFormat, ConversionLaw,
                         testing::Combine(testing::Range(0, static_cast<int>(std::size(kConvertedFamilies))),
                                          testing::ValuesIn(kFormats)),
                         [](const auto& tested) {
                           return fmt::format("{}_{}", kConvertedFamilies[std::get<0>(tested.param)].name,
                                              std::get<1>(tested.param));
                         });

// A census bound to files that nobody has: every tensor as bf16, one behind the other.
BoundCensus bound_nowhere(const Census& census) {
  BoundCensus bound;
  std::uint64_t end = 0;
  const auto placed = [&](const BlockSpec& block) {
    std::vector<FoundTensor> found;
    for (const TensorSpec& spec : block.tensors) {
      const std::uint64_t bytes = format(FormatId::bf16).weight_bytes(spec.held());
      found.push_back({FormatId::bf16, spec.held(), {0, end, bytes}, {}, 0});
      end += bytes;
    }
    return lay_out(found);
  };
  bound.specs = census.walk;
  for (const BlockSpec& block : census.walk) bound.walk.push_back(placed(block));
  bound.embedding = {census.embedding.name, FormatId::bf16, census.embedding.shape, 0, end, 0};
  bound.experts = ExpertTable(census.layers, census.experts);
  for (int layer = 0; layer < census.layers; ++layer)
    for (int expert = 0; census.has_experts[static_cast<std::size_t>(layer)] && expert < census.experts; ++expert)
      bound.experts.set(layer, expert, placed(census.expert(layer, expert)));
  return bound;
}

// Sizes of the GLM-5.2 specification, sections 2.3, 6.1 and 6.3.
TEST(ConversionSizes, AreThoseOfTheReleasedGlm) {
  const auto config = must(read_model_config(test::released_glm_config().dump(), "config.json"));
  const ModelCensus census{config->census({78, true}), config->census({78, false}), kept_matrices(*config)};
  const BoundCensus bound = bound_nowhere(census.whole);
  const ModelTensors tensors(census, bound);
  std::array<std::map<FormatId, std::uint64_t>, kTensorKinds> bytes;
  std::array<std::uint64_t, kTensorKinds> numbers{};
  for (std::size_t block = 0; block < tensors.blocks(); ++block)
    for (const ModelTensor& tensor : tensors.block(block)) {
      const auto kind = static_cast<std::size_t>(tensor.kind);
      numbers[kind] += static_cast<std::uint64_t>(tensor.shape.rows) * static_cast<std::uint64_t>(tensor.shape.cols);
      for (const Format* one : formats())
        if (tensor.shape.cols % one->block_cols == 0)
          bytes[kind][one->id] += one->weight_bytes(tensor.shape) + one->scale_bytes(tensor.shape);
    }
  auto& experts = bytes[static_cast<std::size_t>(TensorKind::experts)];
  EXPECT_EQ(experts[FormatId::bf16], 19'200 * 75'497'472ull);
  EXPECT_EQ(experts[FormatId::fp8], 19'200 * 37'757'952ull);
  EXPECT_EQ(experts[FormatId::int4], 19'200 * 18'915'328ull);
  EXPECT_EQ(experts[FormatId::int4g64], 19'200 * 21'233'664ull);
  EXPECT_EQ(experts[FormatId::int4g128], 19'200 * 20'054'016ull);
  EXPECT_EQ(numbers[static_cast<std::size_t>(TensorKind::dense)],
            78 * 165'019'648ull + 75 * 37'748'736ull + 3 * 3 * 12'288 * 6'144ull + 21 * 9'371'648ull);
  EXPECT_EQ(bytes[static_cast<std::size_t>(TensorKind::io)][FormatId::int8], 2 * 154'880 * (6'144 + 4ull));
  EXPECT_EQ(numbers[static_cast<std::size_t>(TensorKind::mtp)],
            165'019'648ull + 9'371'648 + 257 * 37'748'736ull + 6'144 * 12'288ull);
  std::uint64_t all = 0;
  for (const std::uint64_t count : numbers) all += count;
  EXPECT_EQ(all, 753'329'921'024ull + 19'456);
}

}  // namespace
}  // namespace sluice
