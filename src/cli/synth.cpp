// sluice synth FAMILY OUT: a random checkpoint with the family's real structure, at any size.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "base/counted.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "checkpoint/synth.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "models/deepseek_v4/synth.h"
#include "models/glm_dsa/synth.h"
#include "models/kimi_k3/synth.h"
#include "models/olmoe/synth.h"

namespace sluice::cli {
namespace {

// A new family: its line here.
const std::map<std::string, Result<SynthCheckpoint> (*)(const SynthOptions&)> kFamilies{
    {"deepseek-v4", deepseek_v4::synth_checkpoint},
    {"deepseek-v4-pro", deepseek_v4::synth_pro_checkpoint},
    {"glm-5.2", glm_dsa::synth_checkpoint},
    {"kimi-k3", kimi_k3::synth_checkpoint},
    {"olmoe", olmoe::synth_checkpoint},
};

struct SynthFlags {
  std::string family, out, scale = "tiny";
  SynthOptions options;
  int threads = 0;
};

Result<> synth(SynthFlags flags) {
  flags.options.scale = flags.scale == "full" ? SynthScale::full : SynthScale::tiny;
  TRY_TAKE(const SynthCheckpoint checkpoint, kFamilies.at(flags.family)(flags.options));
  const std::uint64_t bytes = synth_bytes(checkpoint);
  std::uint64_t tensors = 0;
  for (const auto& shard : checkpoint.shards) tensors += shard.size();
  note(fmt::format("{}: {} in {}", flags.out, format_bytes(bytes), counted(tensors, "tensor")));

  Progress shown("writing", bytes);
  const auto begin = std::chrono::steady_clock::now();
  const SynthRun run{.threads = flags.threads, .cancel = &interrupt_flag()};
  TRY_TAKE(const SynthOutcome outcome, write_synth(checkpoint, flags.out, run, [&](std::uint64_t done, std::uint64_t) {
             shown.at(std::min(done, bytes));
           }));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (outcome == SynthOutcome::already_there)
    note(fmt::format("{}: already done", flags.out));
  else
    note(fmt::format("{}: written in {}, {}", flags.out, format_seconds(seconds),
                     format_rate(static_cast<double>(bytes) / seconds)));
  return {};
}

}  // namespace

void add_synth(CLI::App& app, Chosen& chosen) {
  const auto flags = std::make_shared<SynthFlags>();
  flags->threads = ThreadPool::usable_cpus();
  CLI::App* const command = app.add_subcommand("synth", "Write a random checkpoint with a family's real structure");
  command->add_option("FAMILY", flags->family, "Model family")->required()->check(CLI::IsMember(kFamilies));
  command->add_option("OUT", flags->out, "Directory to write; new, empty, or an unfinished one of the same options")
      ->required();
  command->add_option("--scale", flags->scale, "tiny: small widths for tests; full: the released widths")
      ->check(CLI::IsMember({"tiny", "full"}));
  command->add_option("--layers", flags->options.layers, "Number of layers (default: the scale's own)");
  command->add_option("--experts", flags->options.experts, "Routed experts of a layer (default: the scale's own)");
  command->add_flag("--fp8", flags->options.fp8, "As the FP8 release of a family that has one");
  command->add_option("--seed", flags->options.seed, "Every value is a function of this number and of its place");
  command->add_option("--threads", flags->threads, "Threads that generate and write")->check(CLI::Range(1, 1024));
  command->callback([flags, &chosen] { chosen = [flags] { return synth(*flags); }; });
}

}  // namespace sluice::cli
