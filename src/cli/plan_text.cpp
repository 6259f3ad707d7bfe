// See plan_text.h.
#include "cli/plan_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/units.h"
#include "engine/report.h"
#include "residency/presets.h"

namespace sluice::cli {

namespace {

std::string percent(std::uint64_t part, std::uint64_t whole) {
  const double share = whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return fmt::format("{:.{}f} %", share, share > 0 && share < 10 ? 1 : 0);
}

std::uint64_t trunk_bytes(const MemoryPlan& plan) { return plan.parts.trunk_pinned + plan.trunk_passing_bytes; }
std::uint64_t read_per_token(const MemoryPlan& plan) {
  return plan.trunk_bytes_per_token + plan.expert_bytes_per_token;
}

std::string row(std::string_view name, std::uint64_t bytes, std::string_view meaning) {
  return fmt::format("  {:<22}{:>10}  {}\n", name, format_bytes(bytes), meaning);
}

std::string model_lines(const PlanReport& report) {
  const Survey& survey = *report.survey;
  const PlanNeeds& needs = survey.needs;
  const MemoryPlan& plan = report.plan;
  std::string text = fmt::format("{} ({}): {}\n", survey.model.directory, survey.model.config->family(),
                                 survey.model.config->summary());
  text += fmt::format("A token multiplies with {} of weights: the trunk, {}, is used by every token",
                      format_bytes(plan.touched_bytes_per_token), format_bytes(trunk_bytes(plan)));
  if (needs.expert_count > 0)
    text += fmt::format(", and of the {} experts ({}) it uses {}", format_count(needs.expert_count),
                        experts_together(survey), format_count(needs.expert_layers * needs.experts_in_use));
  text += ".\n";
  if (const std::string_view mode = survey.options.mode(); mode != "exact")
    text += fmt::format("Numbers of the {} mode: not the answers of the exact one.\n", mode);
  return text;
}

std::string assumed_lines(const PlanReport& report) {
  std::string text;
  for (const std::string& assumption : report.assumed) text += fmt::format("Assumed: {}.\n", assumption);
  return text;
}

std::string part_lines(const PlanReport& report) {
  const Survey& survey = *report.survey;
  const PlanNeeds& needs = survey.needs;
  const MemoryPlan& plan = report.plan;
  const MemoryPlan::Parts& parts = plan.parts;
  const auto preset = find_preset(needs, survey.options.preset);
  std::string text =
      fmt::format("Where a budget of {} goes{}:\n", format_bytes(plan.budget_bytes),
                  preset ? fmt::format(" (preset {}: {})", preset->name, preset->meaning) : std::string());
  text += row("trunk, stays", parts.trunk_pinned,
              fmt::format("{} of {} blocks, {} of the trunk", plan.trunk.pinned.size(), needs.step_bytes.size(),
                          percent(parts.trunk_pinned, trunk_bytes(plan))));
  if (parts.trunk_ring > 0)
    text += row("trunk, passes through", parts.trunk_ring, "the other blocks, read again for every token ahead of use");
  if (needs.expert_count > 0)
    text += row("experts", parts.experts,
                fmt::format("room for {} of {} ({})", format_count(static_cast<std::uint64_t>(plan.expert_slots)),
                            format_count(needs.expert_count),
                            percent(static_cast<std::uint64_t>(plan.expert_slots), needs.expert_count)));
  text += row("state", parts.state,
              fmt::format("of one conversation of {} tokens{}",
                          format_count(static_cast<std::uint64_t>(survey.options.context)),
                          survey.options.kv == RowFormat::fp32 ? std::string()
                                                               : fmt::format(", kept as {}: not the answers of fp32",
                                                                             row_format_name(survey.options.kv))));
  text += row("activations", parts.scratch, fmt::format("{} prompt tokens are computed together", plan.prefill_chunk));
  text += row("embedding rows", parts.embeddings, "read when a token needs them");
  text += row("reading", parts.io, "threads that read");
  text += row("the program", plan.baseline_bytes, "code, index, tokenizer");
  text += row("together", plan.planned_bytes, plan.everything_resident ? "every weight stays in memory" : "");
  return text;
}

// Of what is read, the part that a directory is expected to bring.
double share_from(const PlanReport& report, const DirectorySpeed& directory) {
  double together = 0;
  for (const DirectorySpeed& one : report.measured.directories) together += one.disk.bytes_per_second;
  return together > 0 ? directory.disk.bytes_per_second / together : 0;
}

// With mirrors: who brings what.
std::string directory_lines(const PlanReport& report) {
  if (report.measured.directories.size() < 2) return "";
  std::string text = "Read from:\n";
  for (const DirectorySpeed& one : report.measured.directories)
    text += fmt::format("  {:.0f} % from {}, which brings {}{}\n", 100 * share_from(report, one), one.directory,
                        format_rate(one.disk.bytes_per_second),
                        one.same_drive && &one != &report.measured.directories.front()
                            ? " but lies on the same drive, so that nothing is gained"
                            : "");
  return text;
}

std::string speed_lines(const PlanReport& report) {
  const MemoryPlan& plan = report.plan;
  const Machine& machine = report.measured.machine;
  std::string text =
      fmt::format("Speed: about {} a token; the limit is ", format_seconds(report.forecast.seconds_per_token));
  if (report.forecast.limit == "disk")
    text += fmt::format("the disk, which reads {} for each ({} of trunk, at most {} of experts)",
                        format_bytes(read_per_token(plan)), format_bytes(plan.trunk_bytes_per_token),
                        format_bytes(plan.expert_bytes_per_token));
  else if (report.forecast.limit == "memory")
    text += fmt::format("memory, from which {} come for each", format_bytes(plan.touched_bytes_per_token));
  else
    text += fmt::format("computing: {} of weights are multiplied with for each",
                        format_bytes(plan.touched_bytes_per_token));
  text += fmt::format(".\nMeasured: disk {} ({}), memory {}, multiplying {} on {}.\n",
                      format_rate(machine.disk_bytes_per_second),
                      !report.assumed.empty() ? "assumed, not measured: nothing is there to read"
                      : report.measured.directories.front().disk.direct ? "direct reads"
                                                                        : "through the page cache, which may flatter",
                      format_rate(machine.memory_bytes_per_second), format_rate(machine.multiply_bytes_per_second),
                      counted(report.survey->options.threads, "thread"));
  return text + directory_lines(report);
}

std::string ladder_lines(const PlanReport& report) {
  std::string text = "What memory buys:\n";
  text += fmt::format("  {:>10}  {:<12}{:>12}{:>10}{:>16}{:>14}  {}\n", "budget", "", "trunk stays", "experts",
                      "read per token", "per token", "limit");
  for (const Rung& rung : report.ladder) {
    const MemoryPlan& plan = rung.plan;
    const std::uint64_t slots = static_cast<std::uint64_t>(plan.expert_slots);
    text += fmt::format("{} {:>10}  {:<12}{:>12}{:>10}{:>16}{:>14}  {}\n",
                        plan.budget_bytes == report.plan.budget_bytes ? '>' : ' ', format_bytes(plan.budget_bytes),
                        rung.name, percent(plan.parts.trunk_pinned, trunk_bytes(plan)),
                        percent(slots, report.survey->needs.expert_count), format_bytes(read_per_token(plan)),
                        format_seconds(rung.forecast.seconds_per_token), rung.forecast.limit);
  }
  return text;
}

// What one more GiB would buy, and where it would go.
std::string next_line(const PlanReport& report) {
  const MemoryPlan &now = report.plan, &next = report.next.plan;
  if (now.everything_resident) return "More memory would change nothing: every weight stays.\n";
  std::vector<std::string> gains;
  if (next.parts.trunk_pinned > now.parts.trunk_pinned)
    gains.push_back(format_bytes(next.parts.trunk_pinned - now.parts.trunk_pinned) + " more of the trunk");
  if (next.expert_slots > now.expert_slots)
    gains.push_back(fmt::format("{} more experts", format_count(static_cast<std::uint64_t>(next.expert_slots) -
                                                                static_cast<std::uint64_t>(now.expert_slots))));
  if (next.prefill_chunk > now.prefill_chunk)
    gains.push_back(fmt::format("{} prompt tokens at a time instead of {}", next.prefill_chunk, now.prefill_chunk));
  if (gains.empty()) gains.emplace_back("longer read-ahead alone");
  return fmt::format("One more GiB would buy {}: {} less to read a token, {} a token (limit: {}).\n",
                     fmt::join(gains, ", "),
                     format_bytes(read_per_token(now) - std::min(read_per_token(now), read_per_token(next))),
                     format_seconds(report.next.forecast.seconds_per_token), report.next.forecast.limit);
}

nlohmann::json figures(const MemoryPlan& plan, const Forecast& forecast) {
  return {{"budget_bytes", plan.budget_bytes},
          {"planned_bytes", plan.planned_bytes},
          {"trunk_bytes_per_token", plan.trunk_bytes_per_token},
          {"expert_bytes_per_token", plan.expert_bytes_per_token},
          {"expert_slots", plan.expert_slots},
          {"prefill_chunk", plan.prefill_chunk},
          {"predicted_s_per_token", forecast.seconds_per_token},
          {"limit", forecast.limit}};
}

}  // namespace

std::string to_text(const PlanReport& report) {
  return model_lines(report) + assumed_lines(report) + "\n" + part_lines(report) + "\n" + speed_lines(report) + "\n" +
         ladder_lines(report) + next_line(report);
}

nlohmann::json to_json(const PlanReport& report) {
  const MemoryPlan& plan = report.plan;
  const MemoryPlan::Parts& parts = plan.parts;
  const Machine& machine = report.measured.machine;
  nlohmann::json json = figures(plan, report.forecast);
  json["family"] = report.survey->model.config->family();
  json["context"] = report.survey->options.context;
  json["numerics"] = report.survey->options.mode();
  json["kv"] = row_format_name(report.survey->options.kv);
  json["baseline_bytes"] = plan.baseline_bytes;
  json["minimum_bytes"] = plan.minimum_bytes;
  json["resident_bytes"] = plan.resident_bytes;
  json["everything_resident"] = plan.everything_resident;
  json["touched_bytes_per_token"] = plan.touched_bytes_per_token;
  json["parts"] = {{"trunk_pinned", parts.trunk_pinned},
                   {"trunk_ring", parts.trunk_ring},
                   {"experts", parts.experts},
                   {"embeddings", parts.embeddings},
                   {"state", parts.state},
                   {"scratch", parts.scratch},
                   {"io", parts.io}};
  json["machine"] = {
      {"total_bytes", machine.total_bytes},
      {"available_bytes", machine.available_bytes},
      {"cpus", machine.cpus},
      {"disk_bytes_per_s", machine.disk_bytes_per_second},
      {"disk_direct", !report.measured.directories.empty() && report.measured.directories.front().disk.direct},
      {"memory_bytes_per_s", machine.memory_bytes_per_second},
      {"multiply_bytes_per_s", machine.multiply_bytes_per_second}};
  json["directories"] = nlohmann::json::array();
  for (const DirectorySpeed& one : report.measured.directories)
    json["directories"].push_back(
        {{"directory", one.directory},
         {"bytes_per_s", one.disk.bytes_per_second},
         {"direct", one.disk.direct},
         {"same_drive", one.same_drive},
         {"share", share_from(report, one)},
         {"bytes_per_token", share_from(report, one) * static_cast<double>(read_per_token(plan))}});
  json["next_gib"] = figures(report.next.plan, report.next.forecast);
  json["next_gib"]["trunk_pinned"] = report.next.plan.parts.trunk_pinned;
  if (!report.assumed.empty()) json["assumed"] = report.assumed;
  json["ladder"] = nlohmann::json::array();
  for (const Rung& rung : report.ladder) {
    json["ladder"].push_back(figures(rung.plan, rung.forecast));
    json["ladder"].back()["name"] = rung.name;
  }
  return json;
}

}  // namespace sluice::cli
