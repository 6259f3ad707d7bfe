// sluice pack SRC OUT: the same checkpoint with the bytes that are read together lying together; resumable.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/counted.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "checkpoint/convert.h"
#include "checkpoint/converted_config.h"
#include "checkpoint/fingerprint.h"
#include "checkpoint/read_cost.h"
#include "checkpoint/write_checksums.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/write_converted.h"
#include "engine/open_tensors.h"

namespace sluice::cli {
namespace {

struct PackFlags {
  std::string source, out, shard_size = "4G", json;
  int threads = 1;
  bool dry_run = false, compress = false;
};

std::string cost_line(std::string_view name, const ReadCost& cost) {
  if (cost.blocks == 0) return "";
  return fmt::format("  {:<8} {:>9} block{} of {:>10} in {:>9} reads of {:>10}\n", name, format_count(cost.blocks),
                     cost.blocks == 1 ? " " : "s", format_bytes(cost.payload_bytes), format_count(cost.reads),
                     format_bytes(cost.page_bytes));
}

std::string cost_table(const std::string& directory, const BoundCensus& bound) {
  return fmt::format("{}\n", directory) + cost_line("trunk", trunk_cost(bound)) +
         cost_line("experts", experts_cost(bound));
}

nlohmann::json costs_json(const BoundCensus& bound) {
  nlohmann::json json;
  for (const auto& [name, cost] : {std::pair{"trunk", trunk_cost(bound)}, std::pair{"experts", experts_cost(bound)}})
    json[name] = {{"blocks", cost.blocks},
                  {"reads", cost.reads},
                  {"payload_bytes", cost.payload_bytes},
                  {"page_bytes", cost.page_bytes}};
  return json;
}

nlohmann::json packing_json(const ConversionPlan& plan, const BoundCensus& source) {
  return {{"shards", plan.shards()}, {"bytes", plan.file_bytes()}, {"source", costs_json(source)}};
}

// What was written is read once more for its checksums.
Result<> sum_up(const PackFlags& flags, const Census& census) {
  TRY_TAKE(const std::unique_ptr<SafetensorsDir> packed, SafetensorsDir::open(flags.out, flags.threads));
  TRY_TAKE(const BoundCensus bound, packed->bind(census, false));
  TRY_TAKE(const std::unique_ptr<Files> files, open_files(packed->files(), IoMode::automatic));
  Progress shown("checksums", verify_bytes(*files));
  return write_checksums(flags.out, packed->index(), *files, bound, {.cancel = &interrupt_flag()},
                         [&](std::uint64_t done) { shown.at(done); });
}

// What --compress will make of the trunk.
Result<Compression> measure_compression(const PackFlags& flags, const OpenTensors& model) {
  Progress shown("measuring", Compression::bytes_to_read(*model.tensors));
  return Compression::measure(*model.tensors, *model.files, {.threads = flags.threads, .cancel = &interrupt_flag()},
                              [&](std::uint64_t done) { shown.at(done); });
}

std::string compression_line(const Compression& compression) {
  if (compression.empty()) return "no tensor of the trunk is bf16 and gains by being compressed\n";
  return fmt::format(
      "compressed: {} of the trunk become {} ({:.1f} %)\n", format_bytes(compression.bytes_before()),
      format_bytes(compression.bytes_after()),
      100.0 * static_cast<double>(compression.bytes_after()) / static_cast<double>(compression.bytes_before()));
}

Result<> pack_model(const PackFlags& flags) {
  ConversionOptions options{.packs = true};
  TRY_TAKE(options.shard_bytes, parse_size(flags.shard_size, "--shard-size"));
  TRY_TAKE(const OpenTensors model, open_tensors(flags.source, flags.threads));
  Compression compression;
  if (flags.compress) {
    TRY_TAKE(compression, measure_compression(flags, model));
    options.compression = &compression;
  }
  TRY_TAKE(const ConversionPlan plan, ConversionPlan::make(*model.tensors, model.checkpoint->index(), options));
  nlohmann::json json = packing_json(plan, *model.bound);
  std::string told = cost_table(flags.source, *model.bound);
  if (flags.compress) {
    json["compressed"] = {{"bytes_before", compression.bytes_before()}, {"bytes_after", compression.bytes_after()}};
    told += compression_line(compression);
  }
  if (!flags.dry_run) {
    TRY_TAKE(const std::string source, fingerprint(model.config_text, model.checkpoint->index(), *model.files));
    TRY_TAKE(std::string config, converted_config(model.config_text, source, plan));
    Conversion conversion{&plan, model.files.get(), flags.source, flags.out, std::move(config)};
    conversion.finishing = [&] { return sum_up(flags, model.census->whole); };
    TRY(write_converted("packing", std::move(conversion), {.threads = flags.threads, .cancel = &interrupt_flag()}));
    TRY_TAKE(const std::unique_ptr<SafetensorsDir> packed, SafetensorsDir::open(flags.out, flags.threads));
    TRY_TAKE(const BoundCensus bound, packed->bind(model.census->whole, false));
    json["packed"] = costs_json(bound);
    told += cost_table(flags.out, bound);
  } else {
    told += fmt::format("{} to write in {}\n", format_bytes(plan.file_bytes()), counted(plan.shards(), "file"));
  }
  if (!flags.json.empty()) TRY(write_json(flags.json, json));
  if (flags.json != "-") fmt::print("{}", told);
  return {};
}

}  // namespace

void add_pack(CLI::App& app, Chosen& chosen) {
  const auto flags = std::make_shared<PackFlags>();
  flags->threads = ThreadPool::usable_cpus();
  CLI::App* const command =
      app.add_subcommand("pack", "Write a checkpoint so that what is read together lies together; resumable");
  command->add_option("SRC", flags->source, "Checkpoint directory to pack")->required();
  command->add_option("OUT", flags->out, "Directory to write; new, empty, or an unfinished one of the same source")
      ->required();
  command->add_option("--shard-size", flags->shard_size, "Bytes of one file, about")->type_name("SIZE");
  command->add_flag("--compress", flags->compress,
                    "Store bf16 matrices of the trunk in about 0.7 of their bytes, losslessly; only sluice reads them");
  command->add_flag("--dry-run", flags->dry_run, "Say sizes, and write nothing");
  command->add_option("--threads", flags->threads, "Threads that copy")->check(CLI::Range(1, 1024));
  command->add_option("--json", flags->json, "Write the figures to this file; - is standard output");
  command->callback([flags, &chosen] { chosen = [flags] { return pack_model(*flags); }; });
}

}  // namespace sluice::cli
