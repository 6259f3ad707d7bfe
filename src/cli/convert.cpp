// sluice convert SRC OUT: a checkpoint in smaller formats, shard by shard, resumable.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/counted.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "checkpoint/convert.h"
#include "checkpoint/converted_config.h"
#include "checkpoint/fingerprint.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/write_converted.h"
#include "engine/open_tensors.h"
#include "io/disk_probe.h"

namespace sluice::cli {
namespace {

// The kinds that have a flag, in the order they are told.
constexpr std::array kKinds = {TensorKind::experts, TensorKind::dense, TensorKind::io, TensorKind::mtp};

struct ConvertFlags {
  std::string source, out, shard_size = "4G", json;
  std::array<std::string, kKinds.size()> targets;
  int threads = 1;
  bool dry_run = false;
};

Result<ConversionOptions> options_of(const ConvertFlags& flags) {
  ConversionOptions options;
  TRY_TAKE(options.shard_bytes, parse_size(flags.shard_size, "--shard-size"));
  for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
    const std::string flag = fmt::format("--{}", kind_name(kKinds[kind]));
    TRY_TAKE(options.targets[static_cast<std::size_t>(kKinds[kind])], parse_target(flags.targets[kind], flag));
  }
  return options;
}

std::string plan_table(const ConversionPlan& plan) {
  std::string table = fmt::format("{:<8} {:>9}  {:>11}  {:>11}  {}\n", "", "tensors", "before", "after", "formats");
  std::uint64_t before = 0, after = 0;
  for (int kind = 0; kind < kTensorKinds; ++kind) {
    const KindTotals& totals = plan.totals(static_cast<TensorKind>(kind));
    if (totals.tensors == 0) continue;
    before += totals.bytes_before;
    after += totals.bytes_after;
    std::string what = format_names(totals.before);
    if (totals.before != totals.after) what += " -> " + format_names(totals.after);
    table += fmt::format("{:<8} {:>9}  {:>11}  {:>11}  {}\n", kind_name(static_cast<TensorKind>(kind)),
                         format_count(totals.tensors), format_bytes(totals.bytes_before),
                         format_bytes(totals.bytes_after), what);
  }
  return table + fmt::format("{:<8} {:>9}  {:>11}  {:>11}  in {}", "all", "", format_bytes(before), format_bytes(after),
                             counted(plan.shards(), "file"));
}

nlohmann::json plan_json(const ConversionPlan& plan, double seconds) {
  nlohmann::json json = {{"shards", plan.shards()}, {"bytes", plan.file_bytes()}, {"kinds", nlohmann::json::object()}};
  for (int kind = 0; kind < kTensorKinds; ++kind) {
    const KindTotals& totals = plan.totals(static_cast<TensorKind>(kind));
    if (totals.tensors == 0) continue;
    json["kinds"][std::string(kind_name(static_cast<TensorKind>(kind)))] = {
        {"tensors", totals.tensors},
        {"bytes_before", totals.bytes_before},
        {"bytes_after", totals.bytes_after},
        {"formats_before", format_names(totals.before)},
        {"formats_after", format_names(totals.after)}};
  }
  if (seconds > 0) json["estimated_s"] = seconds;
  return json;
}

// Bands of the checkpoint converted for a second, and the speed of its disk, whichever is slower. The target is taken
// to write as fast as the source reads.
Result<double> estimate(const ConversionPlan& plan, const Files& source, const ConversionRun& run) {
  TRY_TAKE(const double converting, estimate_seconds(plan, source, run, 1.0));
  std::uint64_t bytes = plan.file_bytes();
  for (int file = 0; file < source.count(); ++file) bytes += source.size(file);
  const Result<DiskSpeed> disk = probe_disk(source.path(0), {});
  if (!disk || disk->bytes_per_second <= 0) return converting;
  return std::max(converting, static_cast<double>(bytes) / disk->bytes_per_second);
}

Result<> dry_run(const ConvertFlags& flags, const ConversionPlan& plan, const Files& source, const ConversionRun& run) {
  TRY_TAKE(const double seconds, estimate(plan, source, run));
  if (!flags.json.empty()) TRY(write_json(flags.json, plan_json(plan, seconds)));
  if (flags.json != "-")
    fmt::print("{}\nabout {} with {}; {} to write; up to {} of memory for each thread\n", plan_table(plan),
               format_seconds(seconds), counted(run.threads, "thread"), format_bytes(plan.file_bytes()),
               format_bytes(plan.band_bytes()));
  return {};
}

Result<> convert_model(const ConvertFlags& flags) {
  TRY_TAKE(const ConversionOptions options, options_of(flags));
  TRY_TAKE(const OpenTensors model, open_tensors(flags.source, flags.threads));
  TRY_TAKE(const ConversionPlan plan, ConversionPlan::make(*model.tensors, model.checkpoint->index(), options));
  const ConversionRun run{.threads = flags.threads, .cancel = &interrupt_flag()};
  if (flags.dry_run) return dry_run(flags, plan, *model.files, run);
  TRY_TAKE(const std::string source, fingerprint(model.config_text, model.checkpoint->index(), *model.files));
  TRY_TAKE(std::string config, converted_config(model.config_text, source, plan));
  note(plan_table(plan));
  TRY(write_converted("converting", {&plan, model.files.get(), flags.source, flags.out, std::move(config)}, run));
  if (!flags.json.empty()) TRY(write_json(flags.json, plan_json(plan, 0)));
  return {};
}

}  // namespace

void add_convert(CLI::App& app, Chosen& chosen) {
  const auto flags = std::make_shared<ConvertFlags>();
  flags->threads = ThreadPool::usable_cpus();
  flags->targets.fill("usual");
  CLI::App* const command = app.add_subcommand("convert", "Write a checkpoint in other formats; resumable");
  command->add_option("SRC", flags->source, "Checkpoint directory to convert")->required();
  command->add_option("OUT", flags->out, "Directory to write; new, empty, or an unfinished one of the same conversion")
      ->required();
  const std::string formats = ": usual, keep, " + writable_formats();
  constexpr std::array kWhat = {"Routed experts", "Matrices that every token meets", "Embedding and lm_head",
                                "All matrices of the head that drafts"};
  for (std::size_t kind = 0; kind < kKinds.size(); ++kind)
    command->add_option(fmt::format("--{}", kind_name(kKinds[kind])), flags->targets[kind], kWhat[kind] + formats)
        ->type_name("FORMAT");
  command->add_option("--shard-size", flags->shard_size, "Bytes of one file, about")->type_name("SIZE");
  command->add_flag("--dry-run", flags->dry_run, "Say sizes and time, and write nothing");
  command->add_option("--threads", flags->threads, "Threads that convert")->check(CLI::Range(1, 1024));
  command->add_option("--json", flags->json, "Write the plan's figures to this file; - is standard output");
  command->callback([flags, &chosen] { chosen = [flags] { return convert_model(*flags); }; });
}

}  // namespace sluice::cli
