// A memory plan for people and as JSON: where the bytes live, what limits the speed, what more memory would buy.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/measure.h"
#include "engine/survey.h"
#include "residency/plan.h"

namespace sluice::cli {

// One budget of the ladder, with what it costs on this machine.
struct Rung {
  std::string name;  // of the preset, "minimum", "resident", "this plan"
  MemoryPlan plan;
  Forecast forecast;
};

struct PlanReport {
  const Survey* survey = nullptr;
  MemoryPlan plan;
  Forecast forecast;
  MeasuredMachine measured;
  std::vector<Rung> ladder;               // ascending budgets
  Rung next;                              // one GiB more
  std::vector<std::string> assumed = {};  // what a plan without a checkpoint takes for granted
};

std::string to_text(const PlanReport& report);
nlohmann::json to_json(const PlanReport& report);  // fields: docs/cli.md

}  // namespace sluice::cli
