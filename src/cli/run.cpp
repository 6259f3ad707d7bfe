// sluice run MODEL: a prompt in, text out.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/model_flags.h"
#include "cli/sampling_flags.h"
#include "engine/report.h"
#include "generate/stop.h"
#include "residency/machine.h"
#include "text/utf8_stream.h"

namespace sluice::cli {

namespace {

struct RunFlags {
  ModelFlags model;
  SamplingFlags sampling;
  std::string prompt, prompt_file, json;
  std::vector<int> ids;
  bool special = false, recompute = false;
  int max_tokens = 256;
};

Result<std::string> read_all(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file.good() && !file.eof())
    return fail(ErrorKind::bad_input, fmt::format("--prompt-file: cannot read {}", path));
  return text;
}

Result<std::vector<int>> prompt_ids(const RunFlags& flags, const KnownModel& model) {
  std::vector<int> ids = flags.ids;
  if (ids.empty()) {
    std::string text = flags.prompt;
    if (!flags.prompt_file.empty()) {
      TRY_TAKE(text, read_all(flags.prompt_file));
    }
    if (model.tokenizer == nullptr)
      return fail(ErrorKind::bad_input, fmt::format("{} has no {}", model.directory, model.config->tokenizer_file()),
                  "give the prompt as --ids, or add the file");
    TRY_TAKE(ids, model.tokenizer->encode(text, flags.special ? SpecialSpelling::token : SpecialSpelling::text));
  }
  if (ids.empty()) return fail(ErrorKind::bad_input, "the prompt is empty", "give --prompt, --prompt-file or --ids");
  for (int id : ids)
    if (id < 0 || id >= model.config->vocab_size())
      return fail(ErrorKind::bad_input,
                  fmt::format("token id {} is outside the vocabulary of {}", id, model.config->vocab_size()));
  return ids;
}

// The text of a generation: shown on standard output as it comes, never half a character, and kept for the report.
class TextOutput {
 public:
  TextOutput(const Tokenizer* tokenizer, std::vector<std::string> stops, bool shown)
      : tokenizer_(tokenizer), stops_(std::move(stops)), shown_(shown) {}

  // False if a stop string is complete.
  bool add(int id) {
    if (tokenizer_ == nullptr) {
      show((all_.empty() ? "" : ",") + std::to_string(id));
      return true;
    }
    if (tokenizer_->is_special(id)) return true;
    show(stops_.push(utf8_.push(tokenizer_->bytes(id))));
    return !stops_.met();
  }
  void finish() {
    if (!stops_.met()) show(stops_.push(utf8_.finish()) + stops_.finish());
    if (shown_ && !all_.empty() && all_.back() != '\n') std::fputc('\n', stdout);
  }
  const std::string& all() const { return all_; }

 private:
  void show(std::string_view text) {
    all_ += text;
    if (!shown_) return;
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  const Tokenizer* tokenizer_;
  Utf8Stream utf8_;
  StopStrings stops_;
  bool shown_;
  std::string all_;
};

Result<> run(const RunFlags& flags) {
  const auto begin = std::chrono::steady_clock::now();
  TRY(flags.sampling.params.validate());
  TRY_TAKE(EngineOptions options, flags.model.options());
  TRY_TAKE(KnownModel model, know_model(flags.model.directory()));
  TRY_TAKE(const std::vector<int> prompt, prompt_ids(flags, model));
  options.context_need = static_cast<int>(prompt.size()) + flags.max_tokens;
  TRY_TAKE(Survey found, survey(std::move(model), options));
  TRY_TAKE(const MemoryPlan plan, plan_memory(found));
  note(plan_line(plan));
  TRY_TAKE(const std::unique_ptr<Engine> engine, Engine::open(std::move(found), plan));
  RunReport report;
  report.prompt_ids = prompt;
  report.load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  TextOutput output(engine->tokenizer(), flags.sampling.stop, flags.json != "-");
  Progress progress("prompt", prompt.size(), Progress::Unit::tokens);
  const Request request{.prompt = prompt,
                        .max_tokens = flags.max_tokens,
                        .stop_ids = {engine->config().stop_ids().begin(), engine->config().stop_ids().end()},
                        .sampling = flags.sampling.params,
                        .seed = flags.sampling.seed,
                        .recompute = flags.recompute};
  const auto on_token = [&](int id) {
    progress.finish();
    return output.add(id);
  };
  const auto on_prefill = [&](std::size_t done, std::size_t) { progress.at(done); };
  TRY_TAKE(report.generation, generate(*engine, request, {on_token, on_prefill}, interrupt_flag()));
  output.finish();

  report.text = output.all();
  report.stats = engine->stats();
  report.peak_rss_bytes = peak_resident_bytes();
  note(to_text(report, *engine));
  if (!flags.json.empty()) TRY(write_json(flags.json, to_json(report, *engine)));
  if (report.generation.finish == Finish::cancelled)
    return fail(ErrorKind::cancelled, fmt::format("interrupted after {} tokens", report.generation.ids.size()));
  return {};
}

}  // namespace

void add_run(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command = app.add_subcommand("run", "A prompt in, text out");
  flags->model.add(*command);
  CLI::Option* prompt = command->add_option("--prompt", flags->prompt, "The prompt, as raw text")->type_name("TEXT");
  CLI::Option* file =
      command->add_option("--prompt-file", flags->prompt_file, "Read the prompt from a file; - is standard input")
          ->type_name("FILE")
          ->excludes(prompt);
  command->add_option("--ids", flags->ids, "The prompt as token ids: 1,2,3")
      ->delimiter(',')
      ->type_name("IDS")
      ->excludes(prompt)
      ->excludes(file);
  command->add_flag("--special", flags->special, "Spellings of special tokens in the prompt are those tokens");
  command->add_option("--max-tokens", flags->max_tokens, "New tokens at most")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 24));
  command->add_flag("--recompute", flags->recompute,
                    "Compute the whole sequence again for each token (same tokens, slow)");
  flags->sampling.add(*command);
  command->add_option("--json", flags->json, "Write everything measured; - is standard output")->type_name("FILE");
  command->callback([flags, &chosen] { chosen = [flags] { return run(*flags); }; });
}

}  // namespace sluice::cli
