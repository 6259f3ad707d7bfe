// See live.h.
#include "serve/live.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sluice::serve {

nlohmann::ordered_json live_json(const std::string& model, const Engine& engine, const EngineLoad& load,
                                 std::uint64_t resident_bytes) {
  const MemoryPlan& plan = engine.plan();
  const MemoryPlan::Parts& parts = plan.parts;
  const auto experts = static_cast<std::uint64_t>(std::max(engine.expert_table().count(), 1));
  return {{"model", model},
          {"family", engine.config().family()},
          {"summary", engine.config().summary()},
          {"context", engine.options().context},
          {"memory",
           {{"budget", plan.budget_bytes},
            {"planned", plan.planned_bytes},
            {"peak", resident_bytes},
            {"trunk", parts.trunk_pinned + parts.trunk_ring},
            {"experts", parts.experts},
            {"state", parts.state},
            {"rest", parts.embeddings + parts.scratch + parts.io + plan.baseline_bytes},
            {"everything_resident", plan.everything_resident}}},
          {"running", load.running},
          {"waiting", load.waiting},
          {"steps", load.steps},
          {"trunk",
           {{"pinned", parts.trunk_pinned},
            {"read", load.stats.trunk.bytes_read},
            {"waited", load.stats.trunk.exposed_seconds}}},
          {"experts",
           {{"requests", load.stats.experts.requests},
            {"hits", load.stats.experts.hits},
            {"bytes_each", engine.expert_bytes() / experts},
            {"read", load.stats.experts.bytes_read},
            {"waited", load.stats.experts.exposed_seconds}}},
          {"embedding", {{"read", load.stats.embedding.bytes_read}}}};
}

}  // namespace sluice::serve
