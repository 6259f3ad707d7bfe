// sluice plan MODEL, or --config FILE before there is a checkpoint: where every byte will live, how fast that is and
// why, and what more memory would buy.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/model_flags.h"
#include "cli/plan_text.h"
#include "engine/config_survey.h"
#include "residency/presets.h"

namespace sluice::cli {

namespace {

struct PlanFlags {
  ModelFlags model;
  std::string config, json;
};

constexpr std::size_t kFewestRungs = 4;  // between the minimum and everything resident
constexpr std::uint64_t kNextStep = std::uint64_t{1} << 30;
constexpr double kAssumedDisk = 3e9;  // bytes per second: an ordinary NVMe drive

// The minimum, the presets, this budget and everything resident. Small models, whose presets fall together, get parts
// of the way instead.
Result<std::vector<Rung>> climb(const Survey& found, const MemoryPlan& plan, const Machine& machine) {
  const PlanNeeds& needs = found.needs;
  const std::uint64_t least = plan.minimum_bytes, most = plan.resident_bytes;
  std::vector<std::pair<std::uint64_t, std::string>> budgets;
  const auto add = [&](std::uint64_t bytes, std::string_view name) {
    const bool there = std::ranges::any_of(budgets, [&](const auto& budget) { return budget.first == bytes; });
    if (!there) budgets.emplace_back(bytes, name);
  };
  for (const Preset& preset : presets(needs))
    if (preset.budget_bytes > least && preset.budget_bytes < most) add(preset.budget_bytes, preset.name);
  if (budgets.size() < kFewestRungs) {
    budgets.clear();
    for (const std::uint64_t eighths : {1u, 2u, 4u, 6u}) add(least + (most - least) / 8 * eighths, "");
  }
  add(least, "minimum");
  add(most, "resident");
  add(plan.budget_bytes, found.options.preset.empty() ? "this plan" : found.options.preset);
  std::ranges::stable_sort(budgets, {}, [](const auto& budget) { return budget.first; });
  std::vector<Rung> ladder;
  for (const auto& [bytes, name] : budgets) {
    TRY_TAKE(const MemoryPlan rung, make_plan(needs, bytes));
    ladder.push_back({name, rung, forecast(rung, machine)});
  }
  return ladder;
}

// The checkpoint's, or the config's with what is assumed.
Result<ConfigSurvey> take_survey(const PlanFlags& flags) {
  const std::string& directory = flags.model.directory();
  if (directory.empty() == flags.config.empty())
    return fail(ErrorKind::usage, "plan needs either a MODEL or --config FILE", "see sluice plan --help");
  TRY_TAKE(EngineOptions options, flags.model.options());
  options.cancel = &interrupt_flag();
  if (directory.empty()) return survey_config(flags.config, options);
  TRY_TAKE(KnownModel model, know_model(directory));
  TRY_TAKE(Survey found, survey(std::move(model), options));
  return ConfigSurvey{std::move(found), {}};
}

Result<> run_plan(const PlanFlags& flags) {
  TRY_TAKE(const ConfigSurvey looked, take_survey(flags));
  const Survey& found = looked.survey;
  PlanReport report;
  report.survey = &found;
  report.assumed = looked.assumed;
  TRY_TAKE(report.plan, plan_memory(found));
  TRY_TAKE(report.measured, measure_machine(found));
  if (!flags.config.empty()) {
    report.measured.machine.disk_bytes_per_second = kAssumedDisk;
    report.assumed.push_back(fmt::format("a disk that reads {}", format_rate(kAssumedDisk)));
  }
  const Machine& machine = report.measured.machine;
  report.forecast = forecast(report.plan, machine);
  TRY_TAKE(report.ladder, climb(found, report.plan, machine));
  TRY_TAKE(report.next.plan, make_plan(found.needs, report.plan.budget_bytes + kNextStep));
  report.next.forecast = forecast(report.next.plan, machine);
  if (report.plan.planned_bytes > machine.available_bytes)
    warn(fmt::format("this plan holds {}, and the machine has {} available now",
                     format_bytes(report.plan.planned_bytes), format_bytes(machine.available_bytes)));
  if (flags.json != "-") std::fputs(to_text(report).c_str(), stdout);
  if (!flags.json.empty()) TRY(write_json(flags.json, to_json(report)));
  return {};
}

}  // namespace

void add_plan(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<PlanFlags>();
  CLI::App* command = app.add_subcommand("plan", "Where every byte will live, how fast that is, what memory would buy");
  flags->model.add(*command, false);
  command->add_option("--config", flags->config, "A config.json instead of a MODEL: a plan before anything is fetched")
      ->type_name("FILE");
  command->add_option("--json", flags->json, "Write the plan's figures; - is standard output")->type_name("FILE");
  command->callback([flags, &chosen] { chosen = [flags] { return run_plan(*flags); }; });
}

}  // namespace sluice::cli
