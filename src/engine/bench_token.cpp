// See bench_token.h.
#include "engine/bench_token.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <thread>

#include "base/processor_time.h"
#include "engine/engine.h"
#include "engine/footprint.h"
#include "engine/idle_work.h"
#include "residency/joint_probe.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPromptTokens = 8;

// What one engine has done, and when.
struct Counts {
  double seconds = 0, stolen = 0;
  EngineStats done;
};

Counts counts(const Engine& engine) {
  return {std::chrono::duration<double>(Clock::now().time_since_epoch()).count(), stolen_seconds(), engine.stats()};
}

// Seconds of a token at the mean of two readings of a yardstick; 0 if nothing moves.
double floor_seconds(double bytes, double rate_before, double rate_after) {
  const double rate = (rate_before + rate_after) / 2;
  return bytes > 0 && rate > 0 ? bytes / rate : 0;
}

// A conversation that goes on greedily.
class Decoder {
 public:
  explicit Decoder(Engine& engine) : engine_(engine), state_(engine.new_state()) {}

  Result<> prefill() {
    for (int id = 1; id <= kPromptTokens; ++id)  // one by one: any chunk may be the plan's
      TRY(engine_.step(*state_, std::array{id % engine_.config().vocab_size()}, id == kPromptTokens));
    return {};
  }
  Result<> step() {
    const int next = greedy_.choose(engine_.sampling(), engine_.choosable_logits(), state_->length());
    return engine_.step(*state_, std::array{next}, true);
  }

 private:
  Engine& engine_;
  std::unique_ptr<SequenceState> state_;
  const Sampler greedy_{{}, 0};
};

class BudgetBench {
 public:
  BudgetBench(Engine& engine, JointProbe& probe, const TokenBenchOptions& options)
      : engine_(engine), probe_(probe), options_(options), decoder_(engine) {}

  Result<TokenBenchEntry> run() {
    TRY(decoder_.prefill());
    TRY(await_preload());
    TRY_TAKE(JointRates before, probe_.measure());
    const int rounds = std::clamp(options_.rounds, 1, options_.tokens);
    for (int round = 0; round < rounds; ++round) {
      const int tokens = options_.tokens * (round + 1) / rounds - options_.tokens * round / rounds;
      engine_.end_turn();  // a round is one, as far as pins go
      TRY_TAKE(const Counts spent, decode(tokens));
      TRY_TAKE(const JointRates after, probe_.measure());
      add(spent, tokens, before, after);
      before = after;
    }
    finish();
    return entry_;
  }

 private:
  // What is being loaded must neither count as a token's nor take the disk from the yardsticks.
  Result<> await_preload() {
    while (engine_.tend()) {
      if (interrupted()) return fail(ErrorKind::cancelled, "interrupted");
      std::this_thread::sleep_for(kTendEvery);
    }
    return {};
  }
  bool interrupted() const { return options_.cancel != nullptr && options_.cancel->requested(); }

  Result<Counts> decode(int tokens) {
    TRY(decoder_.step());
    const Counts begin = counts(engine_);
    for (int token = 0; token < tokens; ++token) {
      if (interrupted()) return fail(ErrorKind::cancelled, "interrupted");
      TRY(decoder_.step());
    }
    const Counts end = counts(engine_);
    return Counts{end.seconds - begin.seconds, end.stolen - begin.stolen, end.done - begin.done};
  }

  // Sums over all tokens; `finish` divides.
  void add(const Counts& spent, int tokens, const JointRates& before, const JointRates& after) {
    const double touched = static_cast<double>(engine_.plan().touched_bytes_per_token) * tokens;
    const auto read = static_cast<double>(spent.done.bytes_read());
    const auto needed = static_cast<double>(spent.done.needed_bytes_read());  // a wrong guess is no reason to be slow
    entry_.s_per_token += spent.seconds;
    entry_.exposed_io_s += spent.done.exposed_seconds();
    entry_.unpack_s += spent.done.trunk.unpack_seconds;
    entry_.disk_busy_s += spent.done.disk_busy_seconds;
    entry_.operations_s += spent.done.operation_seconds;
    entry_.watching_s += spent.done.watching_seconds;
    entry_.stolen_s += spent.stolen;
    entry_.disk_floor_s += floor_seconds(needed, before.disk_beside, after.disk_beside);
    entry_.disk_alone_floor_s += floor_seconds(needed, before.disk_alone, after.disk_alone);
    // Memory has a load beside it only where something is read.
    const double memory_alone = floor_seconds(touched, before.memory_alone, after.memory_alone);
    entry_.memory_floor_s +=
        read > 0 ? floor_seconds(touched, before.memory_beside, after.memory_beside) : memory_alone;
    entry_.memory_alone_floor_s += memory_alone;
    entry_.bytes_read_per_token += read;
    entry_.surplus_bytes_per_token += read - needed;
    entry_.trunk_bytes_per_token += static_cast<double>(spent.done.trunk.bytes_read);
    entry_.expert_bytes_per_token += static_cast<double>(spent.done.experts.bytes_read);
    entry_.touched_bytes_per_token += touched;
    entry_.rounds_s.push_back(spent.seconds / tokens);
    hits_ += spent.done.experts.hits;
    requests_ += spent.done.experts.requests;
  }

  void finish() {
    for (double* sum : {&entry_.s_per_token, &entry_.exposed_io_s, &entry_.unpack_s, &entry_.disk_busy_s,
                        &entry_.operations_s, &entry_.watching_s, &entry_.stolen_s, &entry_.disk_floor_s,
                        &entry_.disk_alone_floor_s, &entry_.memory_floor_s, &entry_.memory_alone_floor_s,
                        &entry_.bytes_read_per_token, &entry_.surplus_bytes_per_token, &entry_.trunk_bytes_per_token,
                        &entry_.expert_bytes_per_token, &entry_.touched_bytes_per_token})
      *sum /= options_.tokens;
    entry_.ratio = entry_.s_per_token / std::max({entry_.disk_floor_s, entry_.memory_floor_s, 1e-12});
    entry_.expert_hit_rate = requests_ > 0 ? static_cast<double>(hits_) / static_cast<double>(requests_) : 0;
    entry_.memory_bytes = engine_.plan().budget_bytes;
    entry_.planned_bytes = engine_.plan().planned_bytes;
  }

  Engine& engine_;
  JointProbe& probe_;
  const TokenBenchOptions& options_;
  Decoder decoder_;
  TokenBenchEntry entry_;
  std::uint64_t hits_ = 0, requests_ = 0;
};

void describe(const Engine& engine, TokenBench& bench) {
  bench.threads = engine.options().threads;
  bench.isa = engine.isa();
  bench.io_mode = engine.io_mode();
  bench.io_engine = engine.reading();
  bench.kv = row_format_name(engine.options().kv);
  bench.preload = engine.options().preload;
  bench.read_ahead = name_of(engine.options().read_named);
  bench.pin_percent = engine.options().pin_percent;
  bench.numerics = engine.options().mode();
  bench.directories.clear();
  for (const SourceStats& one : engine.directories()) bench.directories.push_back(one.name);
}

int context_need(const TokenBenchOptions& options) { return kPromptTokens + options.tokens + options.rounds; }

// Told here in the words of this command's flags. A --context beyond the model is told by whoever opens it.
Result<> fits_context(const TokenBenchOptions& options, int most) {
  const int told = options.engine.context, need = context_need(options);
  if (need <= (told > 0 ? told : most)) return {};
  return fail(
      ErrorKind::bad_input,
      fmt::format("--tokens {}: with what goes before and between they need a context of {}, and {} {}", options.tokens,
                  need, told > 0 ? "--context is" : "this model was made for", told > 0 ? told : most),
      told > 0 && told < most ? "lower --tokens, or raise --context" : "lower --tokens");
}

Result<Survey> look(const TokenBenchOptions& options, EngineOptions engine_options) {
  engine_options.cancel = options.cancel;
  engine_options.time_operations = true;
  engine_options.context_need = context_need(options);
  TRY_TAKE(KnownModel model, know_model(options.directory));
  TRY(fits_context(options, model.config->max_context()));
  return survey(std::move(model), engine_options);
}

// Minutes may lie between the first budget and the last: none of them is begun where one is refused.
Result<> plan_all(const TokenBenchOptions& options, std::span<const std::uint64_t> budgets) {
  EngineOptions quiet = options.engine;
  quiet.warned = {};  // who measures hears of it
  TRY_TAKE(Survey found, look(options, std::move(quiet)));
  for (const std::uint64_t budget : budgets) {
    found.options.memory_bytes = budget;
    TRY(plan_memory(found));
  }
  return {};
}

Result<TokenBenchEntry> bench_budget(const TokenBenchOptions& options, std::uint64_t budget, TokenBench& bench) {
  TRY_TAKE(Survey found, look(options, options.engine));
  found.options.memory_bytes = budget;
  TRY_TAKE(const MemoryPlan plan, plan_memory(found));
  JointProbeShape shape{.threads = found.options.threads, .depth = kReaders, .engine = found.options.reading};
  if (found.needs.expert_slot_bytes > 0)
    shape.read_bytes = std::clamp(found.needs.expert_slot_bytes, kDiskPage, shape.read_bytes);
  std::vector<std::unique_ptr<Files>> files;
  TRY_TAKE(files.emplace_back(), open_files(found.files, found.options.io));
  for (const Mirror& mirror : found.mirrors) {
    TRY_TAKE(files.emplace_back(), open_files(mirror.files, found.options.io));
  }
  std::vector<const Files*> directories;
  for (const std::unique_ptr<Files>& one : files) directories.push_back(one.get());
  TRY_TAKE(const std::unique_ptr<Engine> engine, Engine::open(std::move(found), plan));
  TRY_TAKE(const std::unique_ptr<JointProbe> probe, JointProbe::open(directories, shape));
  describe(*engine, bench);
  TRY_TAKE(TokenBenchEntry entry, BudgetBench(*engine, *probe, options).run());
  for (const SourceStats& one : engine->directories())
    if (one.out)
      return fail(ErrorKind::io,
                  fmt::format("{}: failed while it was measured, so that the floor of all directories is "
                              "not that of the run",
                              one.name),
                  "measure without it");
  return entry;
}

}  // namespace

Result<TokenBench> bench_token(const TokenBenchOptions& options, FunctionRef<void(const TokenBenchEntry&)> measured) {
  TokenBench bench;
  bench.tokens = options.tokens;
  std::vector<std::uint64_t> budgets = options.budgets;
  if (budgets.empty()) budgets.push_back(options.engine.memory_bytes);
  TRY(plan_all(options, budgets));
  for (const std::uint64_t budget : budgets) {
    TRY_TAKE(TokenBenchEntry entry, bench_budget(options, budget, bench));
    measured(entry);
    bench.entries.push_back(std::move(entry));
  }
  return bench;
}

}  // namespace sluice
