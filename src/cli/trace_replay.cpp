// sluice trace replay FILE: what every cache policy would hit at several capacities, against Belady's bound.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "residency/replay.h"

namespace sluice::cli {
namespace {

constexpr std::string_view kBound = "belady";

struct ReplayFlags {
  std::string trace, json;
  std::vector<std::string> capacities, policies;
  std::vector<int> slots;
  int turn_tokens = 0, pin_percent = PolicyShape{}.pin_percent;
};

// A capacity as bytes or as slots.
struct Room {
  std::uint64_t bytes = 0;
  int slots = 0;  // 0: bytes count
};

struct ReplayEntry {
  std::string_view policy;
  Room room;
  ReplayCounts counts;
};

Result<std::vector<Room>> rooms(const ReplayFlags& flags, const Trace& trace) {
  std::vector<Room> all;
  for (const std::string& text : flags.capacities) {
    TRY_TAKE(const std::uint64_t bytes, parse_size(text, "--capacity"));
    if (bytes == 0) return fail(ErrorKind::usage, "--capacity: nothing fits in 0 bytes");
    all.push_back({bytes, 0});
  }
  for (const int slots : flags.slots) all.push_back({trace.expert_bytes() * static_cast<std::uint64_t>(slots), slots});
  if (all.empty())
    for (const std::uint64_t quarters : {1u, 2u, 3u, 4u, 6u, 8u, 12u, 16u})
      all.push_back({trace.token_bytes() * quarters / 4, 0});
  return all;
}

Result<std::vector<std::string_view>> policies(const ReplayFlags& flags) {
  std::vector<std::string_view> all(policy_names().begin(), policy_names().end());
  all.push_back(kBound);
  if (flags.policies.empty()) return all;
  std::vector<std::string_view> chosen;
  for (const std::string& name : flags.policies) {
    const auto found = std::ranges::find(all, name);
    if (found == all.end()) {
      std::string known;
      for (const std::string_view one : all) known += (known.empty() ? "" : ", ") + std::string(one);
      return fail(ErrorKind::usage, fmt::format("--policy: '{}' is not a policy", name), "say one of " + known);
    }
    chosen.push_back(*found);
  }
  return chosen;
}

ReplayEntry replay(const Trace& trace, std::string_view policy, const Room& room, int pin_percent) {
  PolicyShape shape = shape_of(trace, room.slots > 0 ? room.slots : slots_within(trace, room.bytes));
  shape.pin_percent = pin_percent;
  const std::unique_ptr<EvictionPolicy> object = policy == kBound ? make_belady(trace) : make_policy(policy, shape);
  return {policy, room,
          room.slots > 0 ? replay_in_slots(trace, *object, room.slots) : replay_in_bytes(trace, *object, room.bytes)};
}

nlohmann::json replay_json(const std::vector<ReplayEntry>& entries) {
  nlohmann::json list = nlohmann::json::array();
  for (const ReplayEntry& entry : entries) {
    const ReplayCounts& counts = entry.counts;
    nlohmann::json one = {{"policy", entry.policy},
                          {"capacity_bytes", entry.room.bytes},
                          {"decode_requests", counts.decode_requests},
                          {"decode_hits", counts.decode_hits},
                          {"requests", counts.requests},
                          {"hits", counts.hits},
                          {"cpu_ns_per_request", counts.cpu_seconds * 1e9 / static_cast<double>(counts.requests)}};
    if (entry.room.slots > 0) one["slots"] = entry.room.slots;
    list.push_back(std::move(one));
  }
  return list;
}

// A row for each capacity, a column for each policy: hits in percent of decode requests.
std::string replay_text(const Trace& trace, const std::vector<std::string_view>& names,
                        const std::vector<ReplayEntry>& entries) {
  std::string text = fmt::format("{}, {} of {} a layer, {} a token: {} a token\n", counted(trace.layers, "layer"),
                                 counted(trace.experts, "expert"), format_bytes(trace.expert_bytes()), trace.top_k,
                                 format_bytes(trace.token_bytes()));
  text += "decode hits, % of requests\n";
  text += fmt::format("{:>22}", "capacity");
  for (const std::string_view name : names) text += fmt::format(" {:>13}", name);
  for (std::size_t first = 0; first < entries.size(); first += names.size()) {
    const Room& room = entries[first].room;
    text += fmt::format("\n{:>22}", room.slots > 0
                                        ? fmt::format("{} ({})", counted(room.slots, "slot"), format_bytes(room.bytes))
                                        : format_bytes(room.bytes));
    for (std::size_t name = 0; name < names.size(); ++name)
      text += fmt::format(" {:>13.2f}", 100 * entries[first + name].counts.decode_hit_rate());
  }
  return text + "\n";
}

Result<> run_replay(const ReplayFlags& flags) {
  TRY_TAKE(const std::vector<std::string_view> names, policies(flags));
  TRY_TAKE(Trace trace, read_trace(flags.trace));
  if (flags.turn_tokens > 0) cut_into_turns(trace, flags.turn_tokens);
  TRY_TAKE(const std::vector<Room> capacities, rooms(flags, trace));
  std::vector<ReplayEntry> entries;
  for (const Room& room : capacities)
    for (const std::string_view name : names) {
      if (interrupt_flag().requested()) return fail(ErrorKind::cancelled, "interrupted");
      entries.push_back(replay(trace, name, room, flags.pin_percent));
    }
  if (flags.json != "-") std::fputs(replay_text(trace, names, entries).c_str(), stdout);
  return flags.json.empty() ? Result<>{} : write_json(flags.json, replay_json(entries));
}

}  // namespace

void add_trace_replay(CLI::App& trace, Chosen& chosen) {
  auto flags = std::make_shared<ReplayFlags>();
  CLI::App* const command = trace.add_subcommand("replay", "What every cache policy would hit, against Belady's bound");
  command->add_option("FILE", flags->trace, "A routing trace")->required();
  CLI::Option* const capacity =
      command
          ->add_option("--capacity", flags->capacities,
                       "Bytes of experts beside the layer in hand: 250M,1000M (default: parts of one token's experts)")
          ->delimiter(',')
          ->type_name("SIZES")
          ->default_str("");
  command->add_option("--slots", flags->slots, "Slots of the expert store instead, counted exactly as a run counts")
      ->delimiter(',')
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 24))
      ->excludes(capacity)
      ->default_str("");
  command->add_option("--policy", flags->policies, "Only these policies (default: all, and belady)")
      ->delimiter(',')
      ->type_name("NAMES")
      ->default_str("");
  command
      ->add_option("--pin-experts", flags->pin_percent, "Of the policy pinned: the percent of the slots, as of a run")
      ->type_name("PERCENT")
      ->check(CLI::Range(0, kMostPinPercent));
  command
      ->add_option("--turn-tokens", flags->turn_tokens,
                   "Of the policy pinned: turns end after so many tokens (default: where a prompt follows an answer)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 24))
      ->default_str("");
  command->add_option("--json", flags->json, "Write the counts; - is standard output")->type_name("FILE");
  command->callback([flags, &chosen] { chosen = [flags] { return run_replay(*flags); }; });
}

}  // namespace sluice::cli
