// sluice compare ORIGINAL CONVERTED: what a conversion did to the weights and, on a text, to the predictions.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/share.h"
#include "base/text_file.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "checkpoint/compare_weights.h"
#include "checkpoint/converted_config.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/model_flags.h"
#include "cli/open_engine.h"
#include "engine/compare_text.h"
#include "engine/open_tensors.h"
#include "residency/machine.h"

namespace sluice::cli {
namespace {

struct CompareFlags {
  std::string original, converted, text, ids, memory, json, kv = "fp32", numerics = "exact";
  int context = 512, threads = 1;
  std::size_t tokens = 0;
};

using Kinds = std::array<KindError, kTensorKinds>;

Result<Kinds> weights(const CompareFlags& flags) {
  TRY_TAKE(const OpenTensors original, open_tensors(flags.original, flags.threads));
  TRY_TAKE(const OpenTensors converted, open_tensors(flags.converted, flags.threads));
  Progress shown("comparing weights", 0);
  return compare_weights(
      {original.tensors.get(), original.files.get()}, {converted.tensors.get(), converted.files.get()},
      {.threads = flags.threads, .cancel = &interrupt_flag()}, [&](std::uint64_t done) { shown.at(4 * done); });
}

// Numbers apart from each other by anything that is no digit.
Result<std::vector<int>> read_ids(const std::string& text, const std::string& path) {
  std::vector<int> ids;
  for (std::size_t at = 0; (at = text.find_first_of("0123456789", at)) != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
    if (end - at > 9)
      return fail(ErrorKind::bad_input, fmt::format("{}: {} is no token id", path, text.substr(at, end - at)));
    ids.push_back(std::stoi(text.substr(at, end - at)));
    at = end;
  }
  return ids;
}

Result<std::vector<int>> read_tokens(const CompareFlags& flags, const KnownModel& model) {
  const std::string& path = flags.ids.empty() ? flags.text : flags.ids;
  TRY_TAKE(const std::string text, read_text_file(path));
  std::vector<int> ids;
  if (!flags.ids.empty()) {
    TRY_TAKE(ids, read_ids(text, path));
  } else {
    TRY_TAKE(const Tokenizer* const tokenizer, need_tokenizer(model));
    TRY_TAKE(ids, tokenizer->encode(text, SpecialSpelling::text));
  }
  if (flags.tokens > 0 && ids.size() > flags.tokens) ids.resize(flags.tokens);
  const int vocab = model.config->vocab_size();
  if (const auto bad = std::ranges::find_if(ids, [&](int id) { return id >= vocab; }); bad != ids.end())
    return fail(ErrorKind::bad_input, fmt::format("{}: id {} is beyond the {} of the vocabulary", path, *bad, vocab));
  return ids;
}

// What predicting takes, but for the weights.
struct Task {
  KnownModel original, converted;
  std::vector<int> ids;
  std::uint64_t memory_bytes = 0;
  RowFormat kv = RowFormat::fp32;       // of the converted model
  Numerics numerics = Numerics::exact;  // the same
};

Result<Task> read_task(const CompareFlags& flags) {
  Task task;
  TRY_TAKE(task.original, know_model(flags.original));
  TRY_TAKE(task.converted, know_model(flags.converted));
  TRY_TAKE(task.ids, read_tokens(flags, task.original));
  TRY_TAKE(task.kv, read_kv(flags.kv));
  TRY_TAKE(task.numerics, read_numerics(flags.numerics));
  task.memory_bytes = default_budget(this_machine());
  if (!flags.memory.empty()) {
    TRY_TAKE(task.memory_bytes, read_budget(flags.memory));
  }
  return task;
}

// Both models at once, each with half of the memory.
EngineOptions options_of_each(const CompareFlags& flags, const Task& task) {
  const std::uint64_t logits = compare_text_bytes(*task.original.config, kCompareRows);
  EngineOptions options;
  options.memory_bytes = (task.memory_bytes - std::min(task.memory_bytes, logits)) / 2 + 1;
  options.threads = flags.threads;
  options.context = std::min(flags.context, task.original.config->max_context());
  return options;
}

// Told before the weights are compared, and of the budget that was given.
Result<> check_budget(const CompareFlags& flags, const Task& task) {
  EngineOptions options = options_of_each(flags, task);
  std::uint64_t least = 0;
  for (const std::string& directory : {flags.original, flags.converted}) {
    TRY_TAKE(KnownModel model, know_model(directory));
    TRY_TAKE(const Survey found, survey(std::move(model), options));
    least = std::max(least, minimum_bytes(found.needs));
    options.kv = task.kv;
    options.numerics = task.numerics;
  }
  if (options.memory_bytes >= least) return {};
  const std::uint64_t enough = 2 * least + compare_text_bytes(*task.original.config, kCompareRows);
  return fail(ErrorKind::refused,
              fmt::format("--memory: a budget of {} is below the minimum of {} for both models together",
                          format_bytes(task.memory_bytes), format_bytes(enough)),
              fmt::format("give it --memory {}M or more, or a smaller --context", (enough >> 20) + 1));
}

Result<TextDamage> predictions(const CompareFlags& flags, Task task) {
  EngineOptions options = options_of_each(flags, task);
  TRY_TAKE(const std::unique_ptr<Engine> before, open_engine(std::move(task.original), options, PlanTelling::nothing));
  options.kv = task.kv;
  options.numerics = task.numerics;
  options.warned = [](const std::string& what) { warn(what); };
  TRY_TAKE(const std::unique_ptr<Engine> after, open_engine(std::move(task.converted), options, PlanTelling::nothing));
  Progress shown("comparing predictions", task.ids.size(), Progress::Unit::tokens);
  return compare_text(*before, *after, task.ids, options.context, interrupt_flag(),
                      [&](std::size_t done) { shown.at(done); });
}

nlohmann::json damage_json(const Kinds& kinds, const std::optional<TextDamage>& text) {
  nlohmann::json json = {{"weights", nlohmann::json::object()}};
  for (int number = 0; number < kTensorKinds; ++number) {
    const KindError& kind = kinds[static_cast<std::size_t>(number)];
    if (kind.tensors == 0) continue;
    json["weights"][std::string(kind_name(static_cast<TensorKind>(number)))] = {
        {"tensors", kind.tensors},
        {"numbers", kind.numbers},
        {"original", format_names(kind.original)},
        {"converted", format_names(kind.converted)},
        {"rms_relative", kind.relative()},
        {"largest", kind.largest},
        {"largest_in", kind.largest_in}};
  }
  if (!text) return json;
  json["text"] = {{"predictions", text->predictions},
                  {"agreement", share(text->agreements, text->predictions)},
                  {"original_right", share(text->original_right, text->predictions)},
                  {"converted_right", share(text->converted_right, text->predictions)},
                  {"kl_mean", text->divergence},
                  {"kl_largest", text->largest_divergence},
                  {"original_perplexity", text->original_perplexity},
                  {"converted_perplexity", text->converted_perplexity}};
  return json;
}

void print_damage(const Kinds& kinds, const std::optional<TextDamage>& text) {
  fmt::print("{:<8} {:>9}  {:>12}  {:>13}  {}\n", "", "tensors", "RMS error", "largest error", "formats");
  for (int number = 0; number < kTensorKinds; ++number) {
    const KindError& kind = kinds[static_cast<std::size_t>(number)];
    if (kind.tensors == 0) continue;
    fmt::print("{:<8} {:>9}  {:>10.4f} %  {:>13.4g}  {} -> {}{}\n", kind_name(static_cast<TensorKind>(number)),
               format_count(kind.tensors), 100 * kind.relative(), kind.largest, format_names(kind.original),
               format_names(kind.converted), kind.largest > 0 ? ", largest in " + kind.largest_in : "");
  }
  if (!text) return;
  const auto percent = [&](std::uint64_t part) { return 100 * share(part, text->predictions); };
  fmt::print("next token: {} predictions, the same one in {:.2f} %; right in {:.2f} % before and {:.2f} % after\n",
             format_count(text->predictions), percent(text->agreements), percent(text->original_right),
             percent(text->converted_right));
  fmt::print("KL divergence: {:.6f} nats on average, {:.4f} at most\n", text->divergence, text->largest_divergence);
  fmt::print("perplexity: {:.4f} before, {:.4f} after\n", text->original_perplexity, text->converted_perplexity);
}

// Flags first: comparing the weights of large models takes hours.
Result<> compare(const CompareFlags& flags) {
  std::optional<Task> task;
  if (!flags.text.empty() || !flags.ids.empty()) {
    TRY_TAKE(task, read_task(flags));
    TRY(check_budget(flags, *task));
  } else if (!flags.memory.empty()) {
    return fail(ErrorKind::usage, "--memory: no model is run where only weights are compared",
                "give --text or --ids, or leave it out");
  }
  TRY_TAKE(const Kinds kinds, weights(flags));
  std::optional<TextDamage> text;
  if (task) {
    TRY_TAKE(text, predictions(flags, std::move(*task)));
  }
  if (!flags.json.empty()) TRY(write_json(flags.json, damage_json(kinds, text)));
  if (flags.json != "-") print_damage(kinds, text);
  return {};
}

}  // namespace

void add_compare(CLI::App& app, Chosen& chosen) {
  const auto flags = std::make_shared<CompareFlags>();
  flags->threads = ThreadPool::usable_cpus();
  CLI::App* const command = app.add_subcommand("compare", "Tell what a conversion did to weights and predictions");
  command->add_option("ORIGINAL", flags->original, "Checkpoint directory")->required();
  command->add_option("CONVERTED", flags->converted, "What convert made of it")->required();
  CLI::Option* const text =
      command->add_option("--text", flags->text, "File of text on which the predictions are compared")
          ->type_name("FILE");
  command->add_option("--ids", flags->ids, "File of token ids instead")->type_name("FILE")->excludes(text);
  command->add_option("--tokens", flags->tokens, "Only the first N tokens of it (0: all)")->type_name("N");
  command->add_option("--context", flags->context, "Tokens that a model sees at a time")
      ->type_name("N")
      ->check(CLI::Range(2, 1 << 20));
  command
      ->add_option("--memory", flags->memory,
                   "Most memory for both models together (default: 80 % of what is available)")
      ->type_name("SIZE");
  command->add_option("--threads", flags->threads, "Threads that compute")->check(CLI::Range(1, 1024));
  command->add_option("--kv", flags->kv, "How the second model keeps what attention remembers: fp32, bf16 or int8")
      ->type_name("FORMAT");
  command->add_option("--numerics", flags->numerics, "What the second model's products are made of: exact or fast")
      ->type_name("MODE");
  command->add_option("--json", flags->json, "Write the figures to this file; - is standard output");
  command->callback([flags, &chosen] { chosen = [flags] { return compare(*flags); }; });
}

}  // namespace sluice::cli
