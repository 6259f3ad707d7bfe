// sluice inspect MODEL: what a checkpoint holds. Census by role and format, facts of its config in words, tensors.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/counted.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "checkpoint/safetensors_dir.h"
#include "checkpoint/shard_names.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "models/registry.h"

namespace sluice::cli {
namespace {

struct InspectFlags {
  std::string model, json;
  int layers = 0, threads = 1;
  bool tensors = false;
};

struct Inspection {
  std::unique_ptr<ModelConfig> config;
  std::unique_ptr<SafetensorsDir> checkpoint;
  BoundCensus census;
  int layers = 0;
  std::uint64_t disk_bytes = 0;
};

// In the order a reader expects; an unknown role would follow.
constexpr std::array kRoles = {"trunk", "experts", "embedding", "head", "ignored"};

Result<Inspection> look(const InspectFlags& flags) {
  Inspection seen;
  TRY_TAKE(const std::string text, read_config(flags.model));
  TRY_TAKE(seen.config, read_model_config(text, (std::filesystem::path(flags.model) / "config.json").string()));
  if (flags.layers > seen.config->layers())
    return fail(ErrorKind::usage, fmt::format("--layers {}: the model has {}", flags.layers, seen.config->layers()));
  seen.layers = flags.layers > 0 ? flags.layers : seen.config->layers();
  TRY_TAKE(seen.checkpoint, SafetensorsDir::open(flags.model, flags.threads));
  TRY_TAKE(seen.census, seen.checkpoint->bind(seen.config->census({seen.layers}), seen.layers < seen.config->layers()));
  for (const std::string& path : seen.checkpoint->files()) {
    std::error_code ignored;
    seen.disk_bytes += std::filesystem::file_size(path, ignored);
  }
  return seen;
}

RoleBytes sum(const std::map<std::string, RoleBytes>& formats) {
  RoleBytes total;
  for (const auto& [name, bytes] : formats) total = {total.tensors + bytes.tensors, total.bytes + bytes.bytes};
  return total;
}

RoleBytes sum(const BoundCensus& census) {
  RoleBytes total;
  for (const auto& [role, formats] : census.totals) {
    const RoleBytes part = sum(formats);
    total = {total.tensors + part.tensors, total.bytes + part.bytes};
  }
  return total;
}

void print_row(std::string_view role, std::string_view format, RoleBytes row, std::uint64_t all_bytes) {
  const double share = all_bytes == 0 ? 0 : 100.0 * static_cast<double>(row.bytes) / static_cast<double>(all_bytes);
  fmt::print("  {:<10} {:<7} {:>9}  {:>20}  {:>10}  {:5.1f} %\n", role, format, format_count(row.tensors),
             format_count(row.bytes), format_bytes(row.bytes), share);
}

void print_census(const BoundCensus& census) {
  const RoleBytes all = sum(census);
  fmt::print("  {:<10} {:<7} {:>9}  {:>20}  {:>10}  {:>7}\n", "role", "format", "tensors", "bytes", "", "share");
  for (const char* role : kRoles) {
    const auto formats = census.totals.find(role);
    if (formats == census.totals.end()) continue;
    std::string_view shown = role;
    for (const auto& [format, bytes] : formats->second) {
      print_row(shown, format, bytes, all.bytes);
      shown = "";
    }
  }
  print_row("all", "", all, all.bytes);
}

// Bytes one token needs if nothing is kept in memory.
std::uint64_t bytes_per_token(const Inspection& seen) {
  std::uint64_t bytes = 0;
  for (const BlockLayout& step : seen.census.walk) bytes += step.payload_bytes;
  const ExpertTable& experts = seen.census.experts;
  if (experts.count() == 0) return bytes;
  const auto layers = static_cast<std::uint64_t>(experts.count() / experts.experts());
  const std::uint64_t each = experts.payload_bytes() / static_cast<std::uint64_t>(experts.count());
  return bytes + layers * static_cast<std::uint64_t>(seen.config->experts_per_token()) * each;
}

void print_facts(const InspectFlags& flags, const Inspection& seen) {
  const ModelConfig& config = *seen.config;
  fmt::print("{}: {}\n", flags.model, config.family());
  fmt::print("  {}\n", config.summary());
  fmt::print("  vocabulary of {} tokens, context up to {} tokens\n",
             format_count(static_cast<std::uint64_t>(config.vocab_size())),
             format_count(static_cast<std::uint64_t>(config.max_context())));
  if (seen.layers < config.layers())
    fmt::print("  looking at the first {} of {} only\n", seen.layers, counted(config.layers(), "layer"));
  fmt::print("  {} of {}\n\n", counted(seen.checkpoint->files().size(), "file"), format_bytes(seen.disk_bytes));
}

void print_blocks(const Inspection& seen) {
  const BoundCensus& census = seen.census;
  const auto widest = std::max_element(census.walk.begin(), census.walk.end(), [](const auto& left, const auto& right) {
    return left.slot_bytes < right.slot_bytes;
  });
  fmt::print("\n  every token walks {} steps; the largest is '{}', {}\n", census.walk.size(),
             census.specs[static_cast<std::size_t>(widest - census.walk.begin())].label,
             format_bytes(widest->payload_bytes));
  if (census.experts.count() > 0)
    fmt::print("  {} experts of {} each, {} of every layer's {} work on a token\n",
               format_count(static_cast<std::uint64_t>(census.experts.count())),
               format_bytes(census.experts.payload_bytes() / static_cast<std::uint64_t>(census.experts.count())),
               seen.config->experts_per_token(), census.experts.experts());
  fmt::print("  a token touches {} of weights\n", format_bytes(bytes_per_token(seen)));
}

void print_tensors(const TensorIndex& index) {
  fmt::print("\n  {:<8} {:<20} {:>14}  {:<36} {}\n", "dtype", "shape", "bytes", "file", "name");
  for (std::size_t number = 0; number < index.count(); ++number) {
    const TensorRecord& tensor = index.tensor(number);
    const std::string name = in_quotes(tensor.name());
    fmt::print("  {:<8} {:<20} {:>14}  {:<36} {}\n", dtype_name(tensor.dtype),
               fmt::format("[{}]", fmt::join(index.shape(tensor), ", ")), format_count(tensor.bytes),
               file_name(index.files()[tensor.file]), name.substr(1, name.size() - 2));
  }
}

nlohmann::json inspection_json(const InspectFlags& flags, const Inspection& seen) {
  const ModelConfig& config = *seen.config;
  const BoundCensus& census = seen.census;
  const RoleBytes all = sum(census);
  nlohmann::json json = {{"family", config.family()},
                         {"summary", config.summary()},
                         {"layers", seen.layers},
                         {"vocab_size", config.vocab_size()},
                         {"max_context", config.max_context()},
                         {"experts", census.experts.count()},
                         {"experts_per_token", config.experts_per_token()},
                         {"expert_slot_bytes", census.experts.slot_bytes()},
                         {"steps", census.walk.size()},
                         {"bytes_per_token", bytes_per_token(seen)},
                         {"disk_bytes", seen.disk_bytes},
                         {"total", {{"tensors", all.tensors}, {"bytes", all.bytes}}}};
  for (const auto& [role, formats] : census.totals)
    for (const auto& [format, bytes] : formats)
      json["census"][role][format] = {{"tensors", bytes.tensors}, {"bytes", bytes.bytes}};
  for (const std::string& path : seen.checkpoint->files()) json["files"].push_back(file_name(path));
  if (!flags.tensors) return json;
  const TensorIndex& index = seen.checkpoint->index();
  for (std::size_t number = 0; number < index.count(); ++number) {
    const TensorRecord& tensor = index.tensor(number);
    json["tensors"].push_back(
        {{"name", tensor.name()},
         {"dtype", dtype_name(tensor.dtype)},
         {"shape", std::vector<std::uint32_t>(index.shape(tensor).begin(), index.shape(tensor).end())},
         {"bytes", tensor.bytes},
         {"file", file_name(index.files()[tensor.file])},
         {"offset", tensor.offset}});
  }
  return json;
}

Result<> inspect(const InspectFlags& flags) {
  TRY_TAKE(const Inspection seen, look(flags));
  if (flags.json != "-") {
    print_facts(flags, seen);
    print_census(seen.census);
    print_blocks(seen);
    if (flags.tensors) print_tensors(seen.checkpoint->index());
  }
  return flags.json.empty() ? Result<>{} : write_json(flags.json, inspection_json(flags, seen));
}

}  // namespace

void add_inspect(CLI::App& app, Chosen& chosen) {
  const auto flags = std::make_shared<InspectFlags>();
  flags->threads = ThreadPool::usable_cpus();
  CLI::App* const command =
      app.add_subcommand("inspect", "What a checkpoint holds: census by role and format, config, tensors");
  command->add_option("MODEL", flags->model, "Directory of the checkpoint")->required();
  command->add_flag("--tensors", flags->tensors, "List every tensor");
  command->add_option("--layers", flags->layers, "Look at the first layers only (0: all)")
      ->check(CLI::Range(0, 100000));
  command->add_option("--threads", flags->threads, "Threads that read headers")->check(CLI::Range(1, 1024));
  command->add_option("--json", flags->json, "Write what was found to this file; - is standard output");
  command->callback([flags, &chosen] { chosen = [flags] { return inspect(*flags); }; });
}

}  // namespace sluice::cli
