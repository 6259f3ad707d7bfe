// sluice doctor [MODEL]: is everything as it should be, and if not, what to do about it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/model_flags.h"
#include "cli/usage_flag.h"
#include "engine/checkup.h"

namespace sluice::cli {
namespace {

struct DoctorFlags {
  ModelFlags model;
  UsageFlag usage;
  std::string json;
};

const char* name(Health health) { return health == Health::good ? "good" : health == Health::slow ? "slow" : "broken"; }

Result<> examine(const DoctorFlags& flags) {
  TRY_TAKE(EngineOptions options, flags.model.options());
  flags.usage.apply(options);
  options.cancel = &interrupt_flag();
  TRY_TAKE(std::vector<Finding> findings, examine_machine(options));
  if (!flags.model.directory().empty()) {
    TRY_TAKE(std::vector<Finding> of_model, examine_model(flags.model.directory(), options));
    std::ranges::move(of_model, std::back_inserter(findings));
  }
  nlohmann::json json = nlohmann::json::array();
  for (const Finding& finding : findings) {
    json.push_back(
        {{"what", finding.what}, {"health", name(finding.health)}, {"text", finding.text}, {"fix", finding.fix}});
    if (flags.json == "-") continue;
    fmt::print("{:<8}{:<14}{}\n", name(finding.health), finding.what, finding.text);
    if (!finding.fix.empty()) fmt::print("{:<22}{}\n", "", finding.fix);
  }
  if (!flags.json.empty()) TRY(write_json(flags.json, json));
  const auto is_broken = [](const Finding& finding) { return finding.health == Health::broken; };
  if (const auto worst = std::ranges::find_if(findings, is_broken); worst != findings.end())
    return fail(worst->kind, fmt::format("{}: {}", worst->what, worst->text), worst->fix);
  return {};
}

}  // namespace

void add_doctor(CLI::App& app, Chosen& chosen) {
  const auto flags = std::make_shared<DoctorFlags>();
  CLI::App* const command =
      app.add_subcommand("doctor", "Is this machine, and a checkpoint on it, as it should be; what to do if not");
  flags->model.add(*command, false);
  flags->usage.add(*command);
  command->add_option("--json", flags->json, "Write the findings; - is standard output")->type_name("FILE");
  command->callback([flags, &chosen] { chosen = [flags] { return examine(*flags); }; });
}

}  // namespace sluice::cli
