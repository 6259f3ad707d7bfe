// See report.h.
#include "engine/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/units.h"

namespace sluice {

namespace {

std::string percent(std::uint64_t part, std::uint64_t whole) {
  return fmt::format("{:.1f} %", whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

nlohmann::json directories_json(const Engine& engine) {
  nlohmann::json json = nlohmann::json::array();
  for (const SourceStats& one : engine.directories())
    json.push_back({{"directory", one.name},
                    {"bytes_read", one.bytes},
                    {"bytes_per_s", one.bytes_per_second},
                    {"failures", one.failures},
                    {"taken_out", one.out}});
  return json;
}

// Of a run with mirrors: who brought what, since the engine was opened.
std::string directory_lines(const Engine& engine) {
  const std::vector<SourceStats> all = engine.directories();
  std::string text;
  std::uint64_t together = 0;
  for (const SourceStats& one : all) together += one.bytes;
  for (const SourceStats& one : all) {
    if (all.size() == 1) break;
    text += fmt::format("\n  from {}: {} ({})", one.name, format_bytes(one.bytes), percent(one.bytes, together));
    if (one.failures > 0)
      text += fmt::format(", {} failed{}", counted(one.failures, "read"),
                          one.out ? ", not read any more" : " and made elsewhere");
  }
  return text;
}

}  // namespace

std::string experts_together(const Survey& survey) {
  const ExpertTable& experts = survey.bound.experts;
  return fmt::format("{} on disk, {} in memory", format_bytes(experts.payload_bytes()),
                     format_bytes(static_cast<std::uint64_t>(experts.count()) * experts.slot_bytes()));
}

double disk_rate(const EngineStats& stats) {
  return stats.disk_busy_seconds > 0 ? static_cast<double>(stats.bytes_read()) / stats.disk_busy_seconds : 0;
}

nlohmann::json to_json(const RunReport& report, const Engine& engine) {
  const MemoryPlan& plan = engine.plan();
  return {
      {"prompt_ids", report.prompt_ids},
      {"ids", report.generation.ids},
      {"text", report.text},
      {"reasoning", report.reasoning},
      {"cached_tokens", report.generation.cached},
      {"finish", finish_name(report.generation.finish)},
      {"logits_hash", report.generation.logits_hash},
      {"family", engine.config().family()},
      {"numerics", engine.options().mode()},
      {"isa", engine.isa()},
      {"threads", engine.options().threads},
      {"prefill_chunk", plan.prefill_chunk},
      {"memory",
       {{"budget_bytes", plan.budget_bytes},
        {"planned_bytes", plan.planned_bytes},
        {"baseline_bytes", plan.baseline_bytes},
        {"expert_slots", report.stats.governor.slots},
        {"given_back_bytes", report.stats.governor.given_back_bytes},
        {"peak_rss_bytes", report.peak_rss_bytes}}},
      {"timing",
       {{"load_s", report.load_seconds},
        {"prefill_s", report.generation.prefill_seconds},
        {"decode_s", report.generation.decode_seconds}}},
      {"bytes",
       {{"trunk_read", report.stats.trunk.bytes_read},
        {"experts_read", report.stats.experts.bytes_read},
        {"experts_preloaded", report.stats.experts.preloaded_bytes},
        {"embedding_read", report.stats.embedding.bytes_read}}},
      {"experts",
       {{"requests", report.stats.experts.requests},
        {"hits", report.stats.experts.hits},
        {"expected", report.stats.experts.expected},
        {"expected_rightly", report.stats.experts.expected_rightly},
        {"pinned", report.stats.pins.pinned},
        {"pinned_hits", report.stats.pins.hits}}},
      {"io",
       {{"exposed_s", report.stats.exposed_seconds()},
        {"unpack_s", report.stats.trunk.unpack_seconds},
        {"busy_s", report.stats.disk_busy_seconds},
        {"bytes_per_s", disk_rate(report.stats)},
        {"mode", engine.io_mode()},
        {"engine", engine.reading()},
        {"directories", directories_json(engine)}}},
      {"speculation", {{"drafted", report.generation.drafted}, {"accepted", report.generation.accepted}}},
      {"forced_tokens", report.generation.forced},
  };
}

std::string to_text(const RunReport& report, const Engine& engine) {
  const Generation& made = report.generation;
  const EngineStats& stats = report.stats;
  const MemoryPlan& plan = engine.plan();
  // The first new token comes out of the prefill; decoding made the others.
  const double decoded = made.ids.size() > 1 ? static_cast<double>(made.ids.size() - 1) : 0.0;
  std::string text =
      fmt::format("{} ({}); prompt of {} in {}", counted(made.ids.size(), "token"), finish_name(made.finish),
                  counted(report.prompt_ids.size(), "token"), format_seconds(made.prefill_seconds));
  if (made.cached > 0) text += fmt::format(" ({} of them known)", format_count(made.cached));
  if (decoded > 0 && made.decode_seconds > 0)
    text += fmt::format(", then {} a token ({:.2f} tokens/s)", format_seconds(made.decode_seconds / decoded),
                        decoded / made.decode_seconds);
  text += fmt::format("\nmemory: peak {} of a budget of {}", format_bytes(report.peak_rss_bytes),
                      format_bytes(plan.budget_bytes));
  text += fmt::format("\nread from disk: trunk {}, experts {} (of all: {}); at {}, waited {} for it",
                      format_bytes(stats.trunk.bytes_read), format_bytes(stats.experts.bytes_read),
                      experts_together(engine.survey()), format_rate(disk_rate(stats)),
                      format_seconds(stats.exposed_seconds()));
  if (stats.trunk.unpack_seconds > 0)
    text += fmt::format("\nunpacking what was compressed took {}", format_seconds(stats.trunk.unpack_seconds));
  text += directory_lines(engine);
  if (const GovernorStats& governor = stats.governor; governor.times > 0)
    text +=
        fmt::format("\nthe system ran short of memory: the expert cache gave back {} and has {} of {} now",
                    format_bytes(governor.given_back_bytes), format_count(static_cast<std::uint64_t>(governor.slots)),
                    counted(governor.planned_slots, "slot"));
  if (stats.experts.preloaded_bytes > 0)
    text += fmt::format("\nread ahead of any need, while the disk was idle: {} of experts",
                        format_bytes(stats.experts.preloaded_bytes));
  text += fmt::format("\nexperts found in memory: {} of {} ({})", format_count(stats.experts.hits),
                      format_count(stats.experts.requests), percent(stats.experts.hits, stats.experts.requests));
  if (stats.experts.expected > 0)
    text += fmt::format("\nread because a router named them early: {}, {} of them rightly",
                        counted(stats.experts.expected, "expert"), format_count(stats.experts.expected_rightly));
  if (stats.pins.pinned > 0)
    text += fmt::format("\nexperts pinned: {}; they were found in memory {}",
                        format_count(static_cast<std::uint64_t>(stats.pins.pinned)), counted(stats.pins.hits, "time"));
  if (made.drafted > 0)
    text += fmt::format("\ndrafts: {} of {} right ({})", format_count(made.accepted), counted(made.drafted, "token"),
                        percent(made.accepted, made.drafted));
  if (made.forced > 0)
    text += fmt::format("\nforced by the grammar, at the cost of no pass: {}", counted(made.forced, "token"));
  return text;
}

std::string ceiling_line(double reached, double ceiling) {
  return fmt::format("the disk gives {} now that it has nothing else to do: {:.0f} % of that were reached",
                     format_rate(ceiling), 100 * reached / ceiling);
}

std::string plan_line(const MemoryPlan& plan) {
  if (plan.everything_resident)
    return fmt::format("budget {}: all weights fit in memory ({} planned)", format_bytes(plan.budget_bytes),
                       format_bytes(plan.planned_bytes));
  return fmt::format(
      "budget {}: {} of trunk and {} of experts in memory, the rest streams from disk (about {} a token)",
      format_bytes(plan.budget_bytes), format_bytes(plan.parts.trunk_pinned + plan.parts.trunk_ring),
      format_bytes(plan.parts.experts), format_bytes(plan.trunk_bytes_per_token + plan.expert_bytes_per_token));
}

}  // namespace sluice
