// See open_engine.h.
#include "cli/open_engine.h"

#include <fmt/format.h>

#include "base/units.h"
#include "cli/console.h"
#include "cli/last_words.h"
#include "engine/report.h"
#include "residency/machine.h"

namespace sluice::cli {

Result<std::unique_ptr<Engine>> open_engine(KnownModel model, const EngineOptions& options, PlanTelling telling) {
  TRY_TAKE(Survey found, survey(std::move(model), options));
  TRY_TAKE(const MemoryPlan plan, plan_memory(found));
  remember_budget(plan.budget_bytes);
  if (telling == PlanTelling::line) note(plan_line(plan));
  if (const std::uint64_t available = this_machine().available_bytes; available != 0 && plan.planned_bytes > available)
    warn(fmt::format("the plan takes {} and {} are available now: the system may swap or stop this process",
                     format_bytes(plan.planned_bytes), format_bytes(available)));
  TRY_TAKE(std::unique_ptr<Engine> engine, Engine::open(std::move(found), plan));
  if (const std::string refusal = engine->usage_refusal(); !refusal.empty())
    warn(fmt::format("--usage: {}; it is ignored", refusal));
  return engine;
}

}  // namespace sluice::cli
