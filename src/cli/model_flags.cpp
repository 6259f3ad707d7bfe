// See model_flags.h.
#include "cli/model_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/units.h"
#include "cli/choose.h"
#include "cli/console.h"

namespace sluice::cli {

Result<std::uint64_t> read_budget(const std::string& size) {
  TRY_TAKE(const std::uint64_t bytes, parse_size(size, "--memory"));
  if (bytes == 0)
    return fail(ErrorKind::usage, "--memory: a budget of 0 bytes holds nothing",
                "say the most that the process may hold, as 16G, or leave it out: 80 % of what is available");
  return bytes;
}

Result<RowFormat> read_kv(const std::string& name) {
  if (const std::optional<RowFormat> format = find_row_format(name)) return *format;
  return fail(ErrorKind::usage, fmt::format("--kv: '{}' is not a format", name), "say fp32, bf16 or int8");
}

Result<Numerics> read_numerics(const std::string& name) {
  return choose<Numerics>("--numerics", name, "is not a set of numbers",
                          {{"exact", Numerics::exact}, {"fast", Numerics::fast}});
}

void ModelFlags::add(CLI::App& command, bool needs_model) {
  command.add_option("MODEL", directory_, "Checkpoint directory")->required(needs_model);
  add_budget(command);
  add_computing(command);
  add_reading(command);
  add_drafts(command);
}

void ModelFlags::add_for_bench(CLI::App& command) {
  command.add_option("MODEL", directory_, "Checkpoint directory")->required();
  add_computing(command);
  add_reading(command);
  speculate_ = "off";
}

void ModelFlags::add_budget(CLI::App& command) {
  CLI::Option* memory =
      command
          .add_option("--memory", memory_,
                      "Most memory the whole process may hold resident (default: 80 % of what is available)")
          ->type_name("SIZE");
  command
      .add_option("--preset", options_.preset,
                  "A named budget: ultra, laptop, desktop, workstation, server or max (plan explains them)")
      ->type_name("NAME")
      ->excludes(memory);
}

void ModelFlags::add_computing(CLI::App& command) {
  command.add_option("--threads", options_.threads, "Threads that compute (default: the CPUs this process may use)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024))
      ->default_str("");
  command.add_option("--isa", options_.isa, "Instruction set: auto, scalar, avx2, avx512 or neon (same results)")
      ->type_name("ISA");
  command
      .add_option("--context", options_.context,
                  "Tokens a sequence may hold (default: 4096, or what the run needs if more)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 30))
      ->default_str("");
  command
      .add_option("--prefill-chunk", options_.prefill_chunk,
                  "Prompt tokens computed together (default: as the budget allows)")
      ->type_name("N")
      ->check(CLI::Range(1, 4096))
      ->default_str("");
  command
      .add_option(
          "--kv", kv_,
          "How a conversation's keys and values are kept: fp32, bf16 (half the memory) or int8 (a quarter); the "
          "narrow ones answer slightly differently")
      ->type_name("FORMAT");
  command
      .add_option("--numerics", numerics_,
                  "What products are made of: exact, or fast (activations of 8 bits where weights are MXFP4, int8 or "
                  "int4: other results, slightly rougher)")
      ->type_name("MODE");
  command
      .add_option("--read-ahead", read_ahead_,
                  "Experts that are read before they are asked for: certain (those that a table says), predicted "
                  "(those too that routers name before their time) or auto (as the disk has time for it); "
                  "same results")
      ->type_name("WHICH");
  command.add_flag(
      "--parity", options_.parity,
      "Round activations as DeepSeek-V4's release does: other results, nearer to those it was published with");
  command.add_option("--layers", options_.layers, "Run only the first N layers (for partial downloads and debugging)")
      ->type_name("N")
      ->check(CLI::Range(1, 100000))
      ->default_str("");
}

void ModelFlags::add_reading(CLI::App& command) {
  command.add_option("--io", io_, "How weights are read: auto, direct, buffered or drop (same results)")
      ->type_name("MODE");
  command
      .add_option("--io-engine", reading_,
                  "Who reads: auto, io_uring (the kernel has many reads at once) or threads (same results)")
      ->type_name("ENGINE");
  command
      .add_option("--mirror", options_.mirrors,
                  "Another directory with the same shards, on another drive: both are read, by their speed; repeatable")
      ->type_name("DIR")
      ->allow_extra_args(false);
  command
      .add_option("--preload", preload_,
                  "Read what stays in memory before it is needed: the trunk while nobody asks for anything, and all "
                  "experts where all weights fit: on or off")
      ->type_name("HOW");
  command
      .add_option(
          "--pin-experts", options_.pin_percent,
          "Percent of the expert slots for the experts used most, chosen anew between requests (default: 0; same "
          "results)")
      ->type_name("PERCENT")
      ->default_str("");
}

void ModelFlags::add_drafts(CLI::App& command) {
  command
      .add_option("--speculate", speculate_,
                  "Draft further tokens and let the model check them together (same results): auto, off, mtp (the "
                  "model's own head) or lookup (what the text said before)")
      ->type_name("HOW");
}

Result<EngineOptions> ModelFlags::options() const {
  EngineOptions options = options_;
  options.warned = [](const std::string& what) { warn(what); };
  if (!memory_.empty()) {
    TRY_TAKE(options.memory_bytes, read_budget(memory_));
  }
  TRY_TAKE(options.io, choose<IoMode>("--io", io_, "is not a mode",
                                      {{"auto", IoMode::automatic},
                                       {"direct", IoMode::direct},
                                       {"buffered", IoMode::buffered},
                                       {"drop", IoMode::drop}}));
  if (preload_ != "on" && preload_ != "off")
    return fail(ErrorKind::usage, fmt::format("--preload: '{}' is neither on nor off", preload_));
  options.preload = preload_ == "on";
  if (options.pin_percent < 0 || options.pin_percent > kMostPinPercent)
    return fail(
        ErrorKind::usage,
        fmt::format("--pin-experts: {} is not a share of the expert slots that may be pinned", options.pin_percent),
        fmt::format("say 0 to {} percent", kMostPinPercent));
  TRY_TAKE(options.read_named,
           choose<ReadNamed>(
               "--read-ahead", read_ahead_, "is not a choice",
               {{"auto", ReadNamed::where_it_pays}, {"certain", ReadNamed::never}, {"predicted", ReadNamed::always}}));
  TRY_TAKE(options.reading,
           choose<ReadEngine>(
               "--io-engine", reading_, "does not read",
               {{"auto", ReadEngine::automatic}, {"io_uring", ReadEngine::ring}, {"threads", ReadEngine::threads}}));
  TRY_TAKE(options.kv, read_kv(kv_));
  TRY_TAKE(options.numerics, read_numerics(numerics_));
  TRY_TAKE(options.speculate, choose<Speculate>("--speculate", speculate_, "is not a way to draft tokens",
                                                {{"auto", Speculate::automatic},
                                                 {"off", Speculate::off},
                                                 {"mtp", Speculate::head},
                                                 {"lookup", Speculate::lookup}}));
  return options;
}

}  // namespace sluice::cli
