// Whatever the system says of its memory while a model runs, the logits are those of a run that nobody disturbs; and
// the cache really gave way.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "support/engine/law_options.h"
#include "support/engine/recorded_run.h"
#include "support/golden_models.h"
#include "support/temp_dir.h"

namespace sluice::test {
namespace {

class GovernorLaw : public testing::TestWithParam<const char*> {
 protected:
  void tell(std::uint64_t available_mib) {
    std::ofstream(folder_ / "meminfo") << "MemTotal: 1048576 kB\nMemAvailable: " << available_mib * 1024 << " kB\n";
  }
  std::string model() const {
    return (std::filesystem::path(SLUICE_SOURCE_DIR) / "tests/golden" / GetParam()).string();
  }
  EngineOptions options(int part) {
    const std::uint64_t least = minimum_budget(model()), most = resident_budget(model());
    EngineOptions options = law_options();
    options.memory_bytes = least + (most - least) * static_cast<std::uint64_t>(part) / 8;
    options.prefill_chunk = 4;
    return options;
  }
  TempDir folder_;
};

std::vector<float> last_logits(Runner& run) {
  const std::span<const float> logits = run.engine().last_logits();
  return {logits.begin(), logits.end()};
}

TEST_P(GovernorLaw, NoShortageChangesABit) {
  const std::vector<int> tokens = {5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  for (const int part : {5, 8}) {
    SCOPED_TRACE(part);
    EngineOptions undisturbed = options(part);
    undisturbed.memory_folders = {(folder_ / "none").string(), (folder_ / "none").string()};
    Runner calm(model(), undisturbed);
    calm.feed(tokens);
    EngineOptions disturbed = options(part);
    disturbed.memory_folders = {folder_.path().string(), (folder_ / "none").string()};
    tell(900);
    Runner run(model(), disturbed);
    const int slots = run.engine().stats().governor.slots;
    for (std::size_t token = 0; token < tokens.size(); ++token) {
      if (token == 4 || token == 8) {
        tell(token == 4 ? 1 : 21);  // some 40 MiB too few, and then just enough
        std::this_thread::sleep_for(std::chrono::milliseconds(250));
      }
      run.feed(std::span(tokens).subspan(token, 1));
    }
    EXPECT_EQ(last_logits(run), last_logits(calm));
    const EngineStats stats = run.engine().stats();
    EXPECT_LT(stats.governor.slots, slots);
    EXPECT_GE(stats.governor.slots, std::min(slots, run.engine().config().experts_per_token() + 1));
    EXPECT_GT(stats.governor.given_back_bytes, 0u);
    EXPECT_EQ(stats.governor.times, 1u);
    EXPECT_EQ(calm.engine().stats().governor.times, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GovernorLaw, testing::Values("kimi_k3/a", "olmoe/a", "glm_dsa/a", "deepseek_v4/a"),
                         golden_model_name);

}  // namespace
}  // namespace sluice::test
