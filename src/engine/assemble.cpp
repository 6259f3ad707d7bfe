// Where the house is put together: checkpoint -> plan -> stores -> model. See engine.h.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/out_of_memory.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/first_reads.h"
#include "compute/kernel_table.h"
#include "engine/engine.h"
#include "engine/footprint.h"
#include "engine/kept_sequences.h"
#include "engine/measure.h"
#include "engine/operation_clock.h"
#include "engine/profile.h"
#include "engine/run_record.h"
#include "engine/usage_log.h"
#include "engine/usage_place.h"
#include "io/extent.h"

namespace sluice {

namespace {

Result<const KernelTable*> choose_kernels(const std::string& isa) {
  if (isa == "auto") return &best_kernels();
  if (const KernelTable* found = find_kernels(isa)) return found;
  std::string known = "auto";
  for (const KernelTable* table : supported_kernels()) known += std::string(", ") + table->name;
  return fail(ErrorKind::bad_input, fmt::format("--isa {}: this machine does not have it", isa),
              "it can run: " + known);
}

// Ids from here on have no token. Without a tokenizer all are taken to have one.
int ids_with_tokens(int vocab_size, const Tokenizer* tokenizer) {
  if (tokenizer == nullptr) return vocab_size;
  int ids = std::min(vocab_size, tokenizer->vocab_size());
  while (ids > 1 && tokenizer->bytes(ids - 1).empty()) --ids;
  return ids;
}

// All experts, those before them first. The others layer by layer in turn: if there is room for some only, every layer
// gets its share.
std::vector<ExpertKey> all_experts(const ExpertTable& experts, std::vector<ExpertKey> all) {
  for (int expert = 0; expert < experts.experts(); ++expert)
    for (int layer = 0; layer < experts.layers(); ++layer)
      if (experts.has(layer, expert)) all.push_back({layer, expert});
  return all;
}

// Enough to know which drive is the faster one; reads say more.
constexpr DiskProbe kStartProbe{.depth = kReaders, .most_bytes = std::uint64_t{64} << 20, .most_seconds = 0.1};

// Tells of a run that the kernel ended, if notes speak of one, and leaves one of this run.
std::unique_ptr<RunRecord> begin_record(const UsagePlace& place, const MemoryPlan& plan, const EngineOptions& options) {
  const std::optional<KilledRun> killed = killed_run(place.path, options.memory_folders, Afterwards::forget);
  if (killed && options.warned) {
    const Error told = tell_of(*killed, plan.minimum_bytes);
    options.warned(told.what + "; " + told.hint);
  }
  return RunRecord::leave(place.path, plan.budget_bytes, plan.planned_bytes, options.memory_folders);
}

}  // namespace

Result<> Engine::open_reading() {
  const EngineOptions& options = survey_.options;
  TRY_TAKE(std::optional<Checksums> sums, Checksums::read(survey_.model.directory, survey_.files));
  if (!sums && !survey_.mirrors.empty())
    return fail(ErrorKind::bad_input,
                fmt::format("--mirror: {} has no checksums, and without them a copy that differs cannot be told",
                            survey_.model.directory),
                fmt::format("write them once: sluice verify {} --write", survey_.model.directory));
  const auto open_watched = [&](const std::vector<std::string>& paths) -> Result<std::unique_ptr<Files>> {
    TRY_TAKE(std::unique_ptr<Files> files, open_files(paths, options.io));
    return options.profile != nullptr ? options.profile->watch(std::move(files)) : std::move(files);
  };
  TRY_TAKE(files_, open_watched(survey_.files));
  std::vector<ReadSource> sources{{files_.get(), 0, survey_.model.directory}};
  for (const Mirror& mirror : survey_.mirrors) {
    TRY_TAKE(std::unique_ptr<Files> files, open_watched(mirror.files));
    sources.push_back({files.get(), 0, mirror.directory});
    mirror_files_.push_back(std::move(files));
  }
  if (sources.size() > 1) {
    DiskProbe probe = kStartProbe;
    probe.cancel = options.cancel;
    const std::vector<DirectorySpeed> speeds = probe_directories(directories_to_probe(survey_), probe);
    TRY(unless_requested(options.cancel));
    for (std::size_t source = 0; source < sources.size(); ++source)
      sources[source].bytes_per_second = speeds[source].disk.bytes_per_second;
  }
  sources_ = std::make_unique<ReadSources>(std::move(sources), options.warned);
  if (sums) sources_->keep_proofs();
  TRY_TAKE(OpenedQueue opened, open_read_queue(*sources_, options.reading, kReaders));
  queue_ = std::move(opened.queue);
  reading_ = opened.engine;
  if (!sums) return {};
  TRY(sums->cover(survey_.model.directory, survey_.bound));
  TRY_TAKE(queue_,
           make_checked_queue(std::move(queue_), std::make_unique<FirstReads>(*std::move(sums)), sources_.get()));
  return {};
}

Ops& Engine::open_operations(const ModelConfig& config) {
  const EngineOptions& options = survey_.options;
  ops_ = std::make_unique<CpuOps>(*pool_, *kernels_,
                                  CpuOps::Limits{plan_.prefill_chunk, config.widest_input(), options.numerics});
  if (options.profile == nullptr && !options.time_operations) return *ops_;
  clock_ = std::make_unique<OperationClock>(*ops_, options.profile);
  return clock_->ops();
}

std::unique_ptr<EvictionPolicy> Engine::expert_policy(const ExpertUsage* known) {
  const EngineOptions& options = survey_.options;
  const ExpertTable& experts = survey_.bound.experts;
  const PolicyShape shape{.layers = experts.layers(),
                          .experts = experts.experts(),
                          .slots = plan_.expert_slots,
                          .top_k = config().experts_per_token(),
                          .pin_percent = options.pin_percent};
  std::unique_ptr<EvictionPolicy> policy = make_policy("default", shape);
  if (options.pin_percent > 0) {
    auto pinned = std::make_unique<PinnedExperts>(std::move(policy), shape);
    pins_ = pinned.get();
    policy = std::move(pinned);
  }
  if (known != nullptr) policy->begin_with(known->counts());
  return policy;
}

void Engine::open_experts(const UsagePlace* place) {
  const EngineOptions& options = survey_.options;
  const ExpertTable& experts = survey_.bound.experts;
  std::optional<ExpertUsage> known;
  if (place != nullptr) {
    usage_ = std::make_unique<UsageLog>(place->path, place->owner);
    if (options.preload) known = usage_->take_known();
  }
  const int fewest = std::min(plan_.expert_slots, config().experts_per_token() + 1);
  auto governed = govern(make_resizable_store(experts, plan_.expert_slots, expert_policy(known ? &*known : nullptr),
                                              *queue_, config().census(survey_.scope()).expert),
                         {.slot_bytes = page_ceil(experts.slot_bytes()), .fewest = fewest, .most = plan_.expert_slots},
                         options.memory_folders);
  governed_ = governed.get();
  experts_ = std::move(governed);
  if (options.profile != nullptr) experts_ = options.profile->watch(std::move(experts_), experts);
  if (usage_) experts_ = count_uses(std::move(experts_), usage_->counted());
  if (!options.preload) return;
  const PreloadPace pace = plan_.expert_slots >= experts.count() ? PreloadPace::always : PreloadPace::when_idle;
  std::vector<ExpertKey> hottest;
  if (known) hottest = known->hottest(known->counts().size());
  experts_->preload(all_experts(experts, std::move(hottest)), pace);
}

Result<std::unique_ptr<Engine>> Engine::open(Survey survey, const MemoryPlan& plan) {
  return unless_refused(plan.budget_bytes, [&] { return assemble(std::move(survey), plan); });
}

Result<std::unique_ptr<Engine>> Engine::assemble(Survey survey, const MemoryPlan& plan) {
  std::unique_ptr<Engine> engine(new Engine(std::move(survey), plan));
  const EngineOptions& options = engine->survey_.options;
  BoundCensus& bound = engine->survey_.bound;
  const ModelConfig& config = *engine->survey_.model.config;

  TRY_TAKE(engine->kernels_, choose_kernels(options.isa));
  const std::optional<UsagePlace> place = usage_place(engine->survey_);
  if (place) engine->record_ = begin_record(*place, plan, options);
  engine->pool_ = std::make_unique<ThreadPool>(options.threads);
  Ops& ops = engine->open_operations(config);
  TRY(engine->open_reading());

  engine->trunk_ = make_trunk_store(bound.specs, bound.walk, plan.trunk, *engine->queue_,
                                    std::make_unique<BlockUnpacker>(bound.walk, *engine->pool_, *engine->kernels_));
  if (options.profile != nullptr) engine->trunk_ = options.profile->watch(std::move(engine->trunk_), bound.specs);
  if (bound.experts.count() > 0) engine->open_experts(place ? &*place : nullptr);
  engine->embedding_ = make_row_table(bound.embedding, embedding_rows_kept(plan.prefill_chunk), *engine->queue_);
  for (const BoundIds& table : bound.id_tables) {
    TRY_TAKE(IdTable ids, read_id_table(table, *engine->queue_));
    engine->id_tables_.push_back(std::move(ids));
  }

  engine->reads_named_ = options.read_named == ReadNamed::always;
  engine->model_ = config.open(engine->survey_.scope(), plan.prefill_chunk,
                               {&ops, engine->trunk_.get(), engine->experts_.get(), engine->embedding_.get(),
                                engine->id_tables_, &engine->reads_named_, options.read_known});
  const int logit_rows = options.logit_rows() + (options.draft_head ? 1 : 0);
  engine->logits_.resize(static_cast<std::size_t>(logit_rows) * static_cast<std::size_t>(config.vocab_size()));
  if (options.draft_head)
    engine->hidden_.resize(static_cast<std::size_t>(plan.prefill_chunk) *
                           static_cast<std::size_t>(engine->hidden_width()));
  engine->choosable_ = static_cast<std::size_t>(ids_with_tokens(config.vocab_size(), engine->tokenizer()));
  engine->sampling_.emplace(SamplingRoom{ops});
  engine->kept_ = std::make_unique<KeptSequences>(page_ceil(engine->survey_.needs.state_bytes));
  return engine;
}

}  // namespace sluice
