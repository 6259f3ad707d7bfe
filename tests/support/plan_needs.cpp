// See plan_needs.h.
#include "support/plan_needs.h"

#include <algorithm>
#include <random>

namespace sluice::test {

PlanNeeds random_needs(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto up_to = [&](std::uint64_t most) { return random() % (most + 1); };
  PlanNeeds needs;
  needs.baseline_bytes = 1'000'000 + up_to(20'000'000);
  const std::uint64_t size = std::uint64_t{1} << (12 + up_to(14));  // of a usual step
  for (std::uint64_t steps = 1 + up_to(40); steps > 0; --steps)
    needs.step_bytes.push_back(1 + up_to(random() % 8 == 0 ? 20 * size : size));
  if (random() % 4 != 0) {
    const std::uint64_t experts = 1 + up_to(60);
    needs.expert_layers = 1 + up_to(20);
    needs.expert_count = experts * needs.expert_layers;
    needs.experts_in_use = 1 + up_to(std::min<std::uint64_t>(experts - 1, 15));
    needs.expert_slot_bytes = 1 + up_to(2 * size);
  }
  needs.state_bytes = up_to(30'000'000);
  needs.io_bytes = up_to(1'000'000);
  std::uint64_t scratch = up_to(size), embedding = 4096;
  for (int chunk = 1; chunk <= 512; chunk *= 2) {
    needs.chunks.push_back(chunk);
    needs.scratch_bytes.push_back(scratch);
    needs.embedding_bytes.push_back(embedding);
    scratch += up_to(2 * scratch + 5000), embedding *= 2;
  }
  return needs;
}

PlanNeeds k3_like_needs() {
  PlanNeeds needs;
  needs.baseline_bytes = 24 << 20;
  for (int layer = 0; layer < 93; ++layer)
    for (std::uint64_t step : {528u, 370u, 23u, 220u}) needs.step_bytes.push_back(step * 1'000'000);
  for (int slice = 0; slice < 5; ++slice) needs.step_bytes.push_back(470'000'000);
  needs.expert_slot_bytes = 17'551'360;
  needs.expert_layers = 92;
  needs.expert_count = 92 * 896;
  needs.experts_in_use = 16;
  needs.state_bytes = 700'000'000;
  for (int chunk = 1; chunk <= 512; chunk *= 2) {
    needs.chunks.push_back(chunk);
    needs.scratch_bytes.push_back(5'000'000 + static_cast<std::uint64_t>(chunk) * 1'500'000);
    needs.embedding_bytes.push_back(static_cast<std::uint64_t>(chunk) * 20'480);
  }
  needs.io_bytes = 1 << 20;
  return needs;
}

}  // namespace sluice::test
