// `inspect` and `plan` of the released GLM-5.2, bf16 and FP8, from config and headers alone: files of the released
// bytes with holes where the weights would be.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "models/glm_dsa/synth.h"
#include "support/must.h"
#include "support/sluice_program.h"
#include "support/temp_dir.h"

namespace sluice::test {
namespace {

using nlohmann::json;

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
  void add(const std::string& name, const char* dtype, const std::vector<std::uint64_t>& shape, std::uint64_t size) {
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
  json header_ = json::object();
  std::uint64_t data_ = 0;
};

void write_headers(const std::filesystem::path& directory, bool fp8) {
  std::filesystem::create_directories(directory);
  const SynthCheckpoint checkpoint = must(glm_dsa::synth_checkpoint({.scale = SynthScale::full}));
  int number = 0;
  for (const std::vector<SynthTensor>& tensors : checkpoint.shards) {
    Shard shard;
    for (const SynthTensor& tensor : tensors) {
      const auto& [name, type, shape] = tensor.stored;
      if (!fp8 || stays(tensor)) {
        shard.add(name, type == Dtype::f32 ? "F32" : "BF16", shape, type == Dtype::f32 ? 4 : 2);
        continue;
      }
      shard.add(name, "F8_E4M3", shape, 1);
      shard.add(name + "_scale_inv", "F32", {(shape[0] + 127) / 128, (shape[1] + 127) / 128}, 4);
    }
    shard.write(directory / ("model-" + std::to_string(1000 + ++number) + ".safetensors"));
  }
  std::ofstream(directory / "config.json") << checkpoint.config;
}

struct Release {
  bool fp8;
  std::uint64_t tensors, bytes, expert_bytes;  // spec sections 0 and 2.3
};

class GlmRelease : public testing::TestWithParam<Release> {};

TEST_P(GlmRelease, InspectAndPlanFromHeadersAlone) {
  const TempDir dir;
  const std::string model = (dir / "glm").string();
  write_headers(dir / "glm", GetParam().fp8);
  const Outcome inspected = sluice({"inspect", model, "--json", "-"});
  ASSERT_EQ(inspected.exit_code, 0) << inspected.err;
  std::uint64_t tensors = 0, bytes = 0, experts = 0;
  const json seen = json::parse(inspected.out);
  for (const auto& [role, formats] : seen.at("census").items())
    for (const auto& [format, total] : formats.items()) {
      tensors += total.at("tensors").get<std::uint64_t>();
      bytes += total.at("bytes").get<std::uint64_t>();
      if (role == "experts") experts += total.at("bytes").get<std::uint64_t>();
    }
  EXPECT_EQ(tensors, GetParam().tensors);
  EXPECT_EQ(bytes, GetParam().bytes);
  EXPECT_EQ(experts, std::uint64_t{75} * 256 * GetParam().expert_bytes);
  const Outcome planned = sluice({"plan", model, "--memory", "64G", "--json", "-"});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_LE(json::parse(planned.out).at("planned_bytes").get<std::uint64_t>(), std::uint64_t{64} << 30);
}

INSTANTIATE_TEST_SUITE_P(Releases, GlmRelease,
                         testing::Values(Release{false, 59'585, 1'506'659'919'872, 75'497'472},
                                         Release{true, 118'629, 755'617'140'416, 37'757'952}),
                         [](const auto& instance) { return std::string(instance.param.fp8 ? "fp8" : "bf16"); });

}  // namespace
}  // namespace sluice::test
