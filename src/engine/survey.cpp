// See survey.h and config_survey.h.
#include "engine/survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>

#include "base/counted.h"
#include "base/text_file.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "checkpoint/assumed_bound.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/checksums.h"
#include "checkpoint/read_cost.h"
#include "compute/cpu_ops.h"
#include "engine/config_survey.h"
#include "engine/footprint.h"
#include "engine/head_drafter.h"
#include "formats/format.h"
#include "models/registry.h"
#include "residency/presets.h"

namespace sluice {

namespace {

constexpr int kDefaultContext = 4096;
constexpr int kLargestChunk = 512;

Result<> resolve(EngineOptions& options, const ModelConfig& config) {
  if (options.parity && options.numerics != Numerics::exact)
    return fail(ErrorKind::usage,
                fmt::format("--parity and --numerics {} are two sets of numbers", numerics_name(options.numerics)),
                "say one of them");
  if (options.parity)
    if (Result<> possible = config.parity_mode(); !possible)
      return tl::unexpected<Error>(std::move(possible.error()).within("--parity"));
  if (options.threads == 0) options.threads = ThreadPool::usable_cpus();
  if (options.layers == 0) options.layers = config.layers();
  if (options.layers > config.layers())
    return fail(ErrorKind::bad_input, fmt::format("--layers {} is more than the {} of the model", options.layers,
                                                  counted(config.layers(), "layer")));
  const bool has_head = config.has_draft_head() && options.layers == config.layers();
  if (options.speculate == Speculate::head && !has_head)
    return fail(ErrorKind::bad_input,
                "--speculate mtp: this model, or what is run of it, has no head that drafts tokens",
                "say lookup or auto");
  const bool wants_head =
      options.draft_head || options.speculate == Speculate::head || options.speculate == Speculate::automatic;
  options.draft_head = wants_head && has_head;
  const bool context_told = options.context != 0;
  if (!context_told) options.context = std::max(std::min(kDefaultContext, config.max_context()), options.context_need);
  if (options.context > config.max_context())
    return fail(ErrorKind::bad_input,
                fmt::format("a context of {} tokens is more than the {} this model was made for", options.context,
                            config.max_context()),
                context_told ? "lower --context" : "shorten the prompt or lower --max-tokens");
  if (options.context_need > options.context)
    return fail(ErrorKind::bad_input,
                fmt::format("prompt and new tokens need a context of {}, and --context is {}", options.context_need,
                            options.context),
                "raise --context, or lower --max-tokens");
  return {};
}

std::vector<int> chunks(const EngineOptions& options) {
  if (options.prefill_chunk > 0) return {options.prefill_chunk};
  std::vector<int> sizes;
  for (int rows = 1; rows <= kLargestChunk; rows *= 2) sizes.push_back(rows);
  return sizes;
}

}  // namespace

std::uint64_t sequence_bytes(const Survey& survey) {
  const EngineOptions& options = survey.options;
  const ModelConfig& config = *survey.model.config;
  const StateShape state = config.state_shape(survey.scope());
  std::uint64_t bytes = state.bytes(options.context);
  // A copy before rows that may go again; whoever drafts on their own account finds room for it or does not draft.
  if (options.speculate == Speculate::lookup) bytes += state.recurrent_bytes();
  if (options.draft_head)
    bytes += config.draft_state_shape().bytes(options.context) + HeadDrafter::collected_bytes(config);
  return bytes;
}

namespace {

PlanNeeds find_needs(const Survey& survey) {
  const EngineOptions& options = survey.options;
  const ModelConfig& config = *survey.model.config;
  const BoundCensus& bound = survey.bound;
  PlanNeeds needs;
  for (const BlockLayout& step : bound.walk) {
    needs.step_bytes.push_back(step.slot_bytes);
    needs.step_savings.push_back(step.slot_bytes - std::min(step.slot_bytes, read_bytes(step)));
  }
  needs.expert_slot_bytes = bound.experts.slot_bytes();
  needs.expert_count = static_cast<std::uint64_t>(bound.experts.count());
  needs.experts_in_use = static_cast<std::uint64_t>(config.experts_per_token());
  for (int layer = 0; layer < bound.experts.layers(); ++layer)
    needs.expert_layers += bound.experts.has(layer, 0) ? 1 : 0;
  needs.state_bytes = sequence_bytes(survey) * static_cast<std::uint64_t>(options.slots) + options.session_bytes;
  needs.threads = options.threads;
  needs.chunks = chunks(options);
  for (int rows : needs.chunks) {
    needs.scratch_bytes.push_back(
        config.scratch_bytes(survey.scope(), rows) + config.state_shape(survey.scope()).widened_bytes(options.context) +
        CpuOps::scratch_bytes({rows, config.widest_input(), options.numerics}, options.threads) +
        logits_bytes(config, options.logit_rows() + (options.draft_head ? 1 : 0)) +
        (options.draft_head ? hidden_bytes(config, rows) : 0));
    needs.embedding_bytes.push_back(row_table_bytes(bound.embedding, embedding_rows_kept(rows)));
  }
  const std::uint64_t directories = 1 + survey.mirrors.size();
  needs.io_bytes = io_bytes() * directories + BlockUnpacker::bytes(bound.walk);
  needs.baseline_bytes = program_bytes(options.threads) + options.overhead_bytes + index_bytes(survey.files, bound) +
                         checksums_bytes(survey.model.directory) + id_table_bytes(bound.id_tables) +
                         (survey.model.tokenizer ? survey.model.tokenizer->resident_bytes() : 0);
  if (directories > 1 && checksums_bytes(survey.model.directory) > 0)
    needs.baseline_bytes += proof_bytes(bound) * directories;
  return needs;
}

// The fast mode is another set of numbers only where matrices are small whole numbers times a scale.
void tell_if_nothing_is_fast(const Survey& survey) {
  const EngineOptions& options = survey.options;
  if (options.numerics != Numerics::fast || !options.warned) return;
  for (const auto& [role, formats] : survey.bound.totals)
    for (const auto& [name, total] : formats)
      if (const Format* const stored = find_format(name); stored != nullptr && fast_format(stored->id) != nullptr)
        return;
  options.warned("--numerics fast changes nothing: no matrix of this model is MXFP4, int8 or int4");
}

}  // namespace

Result<KnownModel> know_model(const std::string& directory) {
  KnownModel model{directory, nullptr, nullptr, {}};
  TRY_TAKE(const std::string text, read_config(directory));
  const std::filesystem::path folder(directory);
  TRY_TAKE(model.config, read_model_config(text, (folder / "config.json").string()));
  std::error_code ignored;
  if (!std::filesystem::exists(folder / model.config->tokenizer_file(), ignored)) return model;
  auto tokenizer = model.config->open_tokenizer(directory);
  if (!tokenizer && tokenizer.error().kind != ErrorKind::unsupported)
    return tl::unexpected<Error>(std::move(tokenizer.error()));
  if (tokenizer)
    model.tokenizer = std::move(*tokenizer);
  else
    model.tokenizer_refusal = std::move(tokenizer.error());
  return model;
}

Result<const Tokenizer*> need_tokenizer(const KnownModel& model) {
  if (model.tokenizer != nullptr) return model.tokenizer.get();
  if (model.tokenizer_refusal) return tl::unexpected<Error>(*model.tokenizer_refusal);
  return fail(ErrorKind::bad_input, fmt::format("{} has no {}", model.directory, model.config->tokenizer_file()),
              "fetch it, it stands beside config.json; token ids work without it");
}

namespace {

// The same files read as if from two drives would bring nothing, however their directory is spelled.
Result<> is_another(const Mirror& mirror, std::span<const Mirror> earlier) {
  std::error_code failed;
  for (const Mirror& other : earlier)
    for (std::size_t shard = 0; shard < mirror.files.size(); ++shard)
      if (std::filesystem::equivalent(mirror.files[shard], other.files[shard], failed))
        return fail(ErrorKind::bad_input,
                    mirror.directory == other.directory
                        ? fmt::format("--mirror: {} is named twice", mirror.directory)
                        : fmt::format("--mirror: {} is {} itself", mirror.files[shard], other.files[shard]),
                    "each mirror is a copy on another drive");
  return {};
}

}  // namespace

Result<Survey> survey(KnownModel model, const EngineOptions& options) {
  Survey survey;
  survey.options = options;
  survey.model = std::move(model);
  const ModelConfig& config = *survey.model.config;
  TRY(resolve(survey.options, config));
  TRY_TAKE(const std::unique_ptr<Checkpoint> checkpoint,
           open_checkpoint(survey.model.directory, survey.options.threads));
  const bool partial = survey.options.layers < config.layers();
  Result<BoundCensus> bound = checkpoint->bind(config.census(survey.scope()), partial);
  if (!bound && survey.options.draft_head && survey.options.speculate == Speculate::automatic) {
    survey.options.draft_head = false;  // some checkpoints leave out the head that their config speaks of
    bound = checkpoint->bind(config.census(survey.scope()), partial);
  }
  if (!bound) return tl::unexpected<Error>(std::move(bound.error()));
  survey.bound = std::move(*bound);
  survey.files = checkpoint->files();
  TRY(unless_requested(options.cancel));
  for (const std::string& directory : survey.options.mirrors) {
    TRY_TAKE(Mirror mirror, open_mirror(directory, survey.files));
    TRY(is_another(mirror, survey.mirrors));
    survey.mirrors.push_back(std::move(mirror));
    TRY(unless_requested(options.cancel));
  }
  survey.needs = find_needs(survey);
  tell_if_nothing_is_fast(survey);
  return survey;
}

namespace {

// A header tells of a tensor in about so many bytes; the largest header is that of an even share.
std::uint64_t assumed_index_bytes(const BoundCensus& bound, int layers) {
  constexpr std::uint64_t kTensorBytes = 152;
  std::uint64_t tensors = 0;
  for (const auto& [role, formats] : bound.totals)
    for (const auto& [name, total] : formats) tensors += total.tensors;
  const std::uint64_t headers = tensors * kTensorBytes;
  return headers + 4 * headers / static_cast<std::uint64_t>(layers);
}

std::vector<std::string> assumptions(const Survey& survey) {
  std::vector<std::string> told;
  std::uint64_t bytes = 0;
  std::string formats;
  for (const auto& [role, stored] : survey.bound.totals) {
    std::string names;
    for (const auto& [name, total] : stored) {
      bytes += total.bytes;
      names += (names.empty() ? "" : "+") + name;
    }
    formats += fmt::format("{}{} {}", formats.empty() ? "" : ", ", role, names);
  }
  told.push_back(fmt::format("tensors as released ({}), {} together", formats, format_bytes(bytes)));
  told.emplace_back("blocks in one piece, as after `sluice pack`; a released order takes a few pages more for each");
  told.emplace_back("no tokenizer and no checksums in memory, headers of the usual size");
  return told;
}

}  // namespace

Result<ConfigSurvey> survey_config(const std::string& path, const EngineOptions& options) {
  ConfigSurvey found;
  Survey& survey = found.survey;
  Result<std::string> text = read_text_file(path);
  if (!text) {
    if (text.error().hint.empty()) text.error().hint = "name the config.json of a released model";
    return tl::unexpected<Error>(std::move(text.error()).within("--config"));
  }
  survey.options = options;
  survey.model.directory = path;
  TRY_TAKE(survey.model.config, read_model_config(*text, path));
  const ModelConfig& config = *survey.model.config;
  TRY(resolve(survey.options, config));
  const ReleasedForm form = read_released_form(*text);
  survey.bound = assume_bound(config.census(survey.scope()),
                              [&](const TensorSpec& tensor) { return released_format(config, form, tensor); });
  survey.needs = find_needs(survey);
  tell_if_nothing_is_fast(survey);
  survey.needs.baseline_bytes += assumed_index_bytes(survey.bound, survey.options.layers);
  found.assumed = assumptions(survey);
  return found;
}

Result<MemoryPlan> plan_memory(const Survey& survey) {
  std::uint64_t budget = survey.options.memory_bytes;
  const std::string& name = survey.options.preset;
  if (budget == 0 && !name.empty()) {
    const std::optional<Preset> preset = find_preset(survey.needs, name);
    if (!preset) {
      std::string known;
      for (const Preset& one : presets(survey.needs)) known += (known.empty() ? "" : ", ") + std::string(one.name);
      return fail(ErrorKind::usage, fmt::format("--preset: '{}' is not a preset", name), "say one of " + known);
    }
    budget = preset->budget_bytes;
  }
  return make_plan(survey.needs, budget != 0 ? budget : default_budget(this_machine()));
}

}  // namespace sluice
