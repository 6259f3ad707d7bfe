// `inspect` and `plan` of the released GLM-5.2 (bf16 and FP8) and DeepSeek-V4 (Flash and Pro) from config and headers
// alone: files of the released bytes with holes where the weights would be.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/deepseek_v4/synth.h"
#include "models/glm_dsa/synth.h"
#include "support/must.h"
#include "support/sluice_program.h"
#include "support/temp_dir.h"

namespace sluice::test {
namespace {

using Json = nlohmann::json;

// Spec section 2.2: what the FP8 release keeps as it is.
bool stays(const SynthTensor& tensor) {
  if (tensor.stored.type == Dtype::f32) return true;
  for (const char* part : {"norm.", "embed_tokens.", "lm_head.", "mlp.gate.weight", "weights_proj.", "eh_proj."})
    if (tensor.stored.name.find(part) != std::string::npos) return true;
  return false;
}

// A header is put together entry by entry, so that it owes nothing to the writer of the program.
class Shard {
 public:
  void add(const std::string& name, std::string_view dtype, const std::vector<std::uint64_t>& shape,
           std::uint64_t size) {
    std::uint64_t bytes = size;
    for (const std::uint64_t extent : shape) bytes *= extent;
    header_[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {data_, data_ + bytes}}};
    data_ += bytes;
  }
  void write(const std::filesystem::path& path) const {
    const std::string text = header_.dump();
    std::uint64_t length = text.size();
    std::ofstream file(path, std::ios::binary);
    for (int place = 0; place < 8; ++place, length >>= 8) file.put(static_cast<char>(length & 255));
    file << text;
    file.close();
    std::filesystem::resize_file(path, 8 + text.size() + data_);
  }

 private:
  Json header_ = Json::object();
  std::uint64_t data_ = 0;
};

using Synth = Result<SynthCheckpoint> (*)(const SynthOptions&);

struct Release {
  const char* name;
  Synth synth;
  bool as_fp8;  // stored as GLM's FP8 release stores it
  std::uint64_t tensors, bytes;
  std::uint64_t experts, expert_bytes;  // routed, of the trunk
};

// Spec of DeepSeek-V4, section 2.4: types in this order, and names within a type.
std::vector<SynthTensor> in_released_order(std::vector<SynthTensor> tensors) {
  const auto place = [](const SynthTensor& tensor) {
    constexpr Dtype kOrder[] = {Dtype::i64, Dtype::f32, Dtype::bf16, Dtype::f8_e8m0, Dtype::f8_e4m3, Dtype::i8};
    return std::pair(std::ranges::find(kOrder, tensor.stored.type) - std::begin(kOrder), tensor.stored.name);
  };
  std::ranges::sort(tensors, {}, place);
  return tensors;
}

void write_headers(const std::filesystem::path& directory, const Release& release) {
  std::filesystem::create_directories(directory);
  const SynthCheckpoint checkpoint = must(release.synth({.scale = SynthScale::full}));
  int number = 0;
  for (const std::vector<SynthTensor>& tensors : checkpoint.shards) {
    Shard shard;
    for (const SynthTensor& tensor : in_released_order(tensors)) {
      const auto& [name, type, shape] = tensor.stored;
      if (!release.as_fp8 || stays(tensor)) {
        shard.add(name, dtype_name(type), shape, dtype_bits(type) / 8);
        continue;
      }
      shard.add(name, "F8_E4M3", shape, 1);
      shard.add(name + "_scale_inv", "F32", {(shape[0] + 127) / 128, (shape[1] + 127) / 128}, 4);
    }
    shard.write(directory / ("model-" + std::to_string(1000 + ++number) + ".safetensors"));
  }
  std::ofstream(directory / "config.json") << checkpoint.config;
}

class Released : public testing::TestWithParam<Release> {};

TEST_P(Released, InspectAndPlanFromHeadersAlone) {
  const TempDir dir;
  const std::string model = (dir / "model").string();
  write_headers(dir / "model", GetParam());
  const Outcome inspected = sluice({"inspect", model, "--json", "-"});
  ASSERT_EQ(inspected.exit_code, 0) << inspected.err;
  std::uint64_t tensors = 0, bytes = 0, experts = 0;
  const Json seen = Json::parse(inspected.out);
  for (const auto& [role, formats] : seen.at("census").items())
    for (const auto& [format, total] : formats.items()) {
      tensors += total.at("tensors").get<std::uint64_t>();
      bytes += total.at("bytes").get<std::uint64_t>();
      if (role == "experts") experts += total.at("bytes").get<std::uint64_t>();
    }
  EXPECT_EQ(tensors, GetParam().tensors);
  EXPECT_EQ(bytes, GetParam().bytes);
  EXPECT_EQ(experts, GetParam().experts * GetParam().expert_bytes);
  const Outcome planned = sluice({"plan", model, "--memory", "64G", "--json", "-"});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_LE(Json::parse(planned.out).at("planned_bytes").get<std::uint64_t>(), std::uint64_t{64} << 30);
}

constexpr std::uint64_t kGlmExperts = 75 * 256, kFlashExperts = 43 * 256, kProExperts = 61 * 384;
INSTANTIATE_TEST_SUITE_P(
    Releases, Released,
    testing::Values(  // specs: GLM-5.2, sections 0 and 2.3; DeepSeek-V4, 2.1 and 2.4
        Release{"glm_bf16", glm_dsa::synth_checkpoint, false, 59'585, 1'506'659'919'872, kGlmExperts, 75'497'472},
        Release{"glm_fp8", glm_dsa::synth_checkpoint, true, 118'629, 755'617'140'416, kGlmExperts, 37'757'952},
        Release{"v4_flash", deepseek_v4::synth_checkpoint, false, 69'187, 159'609'485'896, kFlashExperts, 13'369'344},
        Release{"v4_pro", deepseek_v4::synth_pro_checkpoint, false, 145'116, 864'704'792'696, kProExperts, 35'094'528}),
    [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace sluice::test
