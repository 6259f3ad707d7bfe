// sluice run MODEL: a prompt in, text out.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/model_flags.h"
#include "cli/sampling_flags.h"
#include "cli/token_output.h"
#include "engine/report.h"
#include "engine/trace_recorder.h"
#include "residency/machine.h"

namespace sluice::cli {

namespace {

struct RunFlags {
  ModelFlags model;
  SamplingFlags sampling;
  std::string prompt, prompt_file, json, system, think, dump_logits, trace;
  std::vector<int> ids;
  bool special = false, chat = false, recompute = false;
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

// A prompt as ids, and what reads the reply if it was rendered as a chat turn.
struct Prompt {
  std::vector<int> ids;
  std::unique_ptr<ChatFormat> chat;
  Conversation conversation;
  ChatOptions chat_options;
};

Result<> render_turn(const RunFlags& flags, const KnownModel& model, const std::string& text, Prompt& prompt) {
  TRY_TAKE(prompt.chat, model.config->open_chat(*model.tokenizer, model.directory));
  prompt.chat_options = prompt.chat->defaults();
  if (flags.think == "off") {
    prompt.chat_options.thinking = false;
  } else if (!flags.think.empty()) {
    prompt.chat_options.effort = flags.think;
  }
  Conversation& conversation = prompt.conversation;
  if (!flags.system.empty())
    conversation.messages.push_back({.role = Role::system, .content = {{.text = flags.system}}});
  conversation.messages.push_back({.role = Role::user, .content = {{.text = text}}});
  TRY_TAKE(prompt.ids, prompt.chat->render(conversation, prompt.chat_options));
  return {};
}

Result<Prompt> read_prompt(const RunFlags& flags, const KnownModel& model) {
  Prompt prompt{.ids = flags.ids, .chat = nullptr, .conversation = {}, .chat_options = {}};
  if (prompt.ids.empty()) {
    std::string text = flags.prompt;
    if (!flags.prompt_file.empty()) {
      TRY_TAKE(text, read_all(flags.prompt_file));
    }
    if (text.empty()) return fail(ErrorKind::bad_input, "the prompt is empty", "give --prompt, --prompt-file or --ids");
    TRY_TAKE(const Tokenizer* const tokenizer, need_tokenizer(model));
    if (flags.chat) {
      TRY(render_turn(flags, model, text, prompt));
    } else {
      TRY_TAKE(prompt.ids, tokenizer->encode(text, flags.special ? SpecialSpelling::token : SpecialSpelling::text));
    }
  }
  for (int id : prompt.ids)
    if (id < 0 || id >= model.config->vocab_size())
      return fail(ErrorKind::bad_input,
                  fmt::format("token id {} is outside the vocabulary of {}", id, model.config->vocab_size()));
  return prompt;
}

TokenOutput make_output(const RunFlags& flags, const Engine& engine, const Prompt& prompt) {
  std::unique_ptr<TextStream> stream;
  if (prompt.chat != nullptr)
    stream = std::make_unique<TextStream>(prompt.chat->reply_parser(prompt.conversation, prompt.chat_options),
                                          flags.sampling.stop);
  else if (engine.tokenizer() != nullptr)
    stream = std::make_unique<TextStream>(*engine.tokenizer(), flags.sampling.stop);
  return {std::move(stream), flags.json != "-"};
}

Request make_request(const RunFlags& flags, const SamplingParams& sampling, const Engine& engine,
                     const Prompt& prompt) {
  const std::span<const int> stops = engine.config().stop_ids();
  Request request{.prompt = prompt.ids,
                  .max_tokens = flags.max_tokens,
                  .stop_ids = {stops.begin(), stops.end()},
                  .sampling = sampling,
                  .seed = flags.sampling.seed,
                  .recompute = flags.recompute};
  if (prompt.chat != nullptr) {
    const std::vector<int> ends = prompt.chat->stop_ids();
    request.stop_ids.insert(request.stop_ids.end(), ends.begin(), ends.end());
  }
  return request;
}

// --dump-logits: rows of fp32 numbers, little-endian, one row for each token, nothing else in the file.
class LogitsFile {
 public:
  explicit LogitsFile(const std::string& path) : path_(path) {
    if (!path.empty()) file_.open(path, std::ios::binary | std::ios::trunc);
  }
  void add(std::span<const float> row) {
    if (file_.is_open())
      file_.write(reinterpret_cast<const char*>(row.data()), static_cast<std::streamsize>(row.size_bytes()));
  }
  // Also tells, before anything is computed, whether the file can be written.
  Result<> check() {
    file_.flush();
    if (path_.empty() || (file_.is_open() && file_.good())) return {};
    return fail(ErrorKind::bad_input, fmt::format("--dump-logits: cannot write {}", path_),
                "check that the folder exists and has room");
  }

 private:
  std::string path_;
  std::ofstream file_;
};

Result<> run(const RunFlags& flags) {
  const auto begin = std::chrono::steady_clock::now();
  TRY_TAKE(const SamplingParams sampling, flags.sampling.over({}));
  LogitsFile logits(flags.dump_logits);
  TRY(logits.check());
  std::unique_ptr<TraceRecorder> trace;
  if (!flags.trace.empty()) {
    TRY_TAKE(trace, TraceRecorder::open(flags.trace));
  }
  TRY_TAKE(EngineOptions options, flags.model.options());
  TRY_TAKE(KnownModel model, know_model(flags.model.directory()));
  TRY_TAKE(const Prompt prompt, read_prompt(flags, model));
  options.context_need = static_cast<int>(prompt.ids.size()) + flags.max_tokens;
  TRY_TAKE(Survey found, survey(std::move(model), options));
  TRY_TAKE(const MemoryPlan plan, plan_memory(found));
  note(plan_line(plan));
  if (const std::uint64_t available = this_machine().available_bytes; available != 0 && plan.planned_bytes > available)
    warn(fmt::format("the plan takes {} and {} are available now: the system may swap or stop this process",
                     format_bytes(plan.planned_bytes), format_bytes(available)));
  TRY_TAKE(const std::unique_ptr<Engine> engine, Engine::open(std::move(found), plan));
  if (trace) trace->attach(*engine);
  RunReport report;
  report.prompt_ids = prompt.ids;
  report.load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  TokenOutput output = make_output(flags, *engine, prompt);
  Progress progress("prompt", prompt.ids.size(), Progress::Unit::tokens);
  const auto on_token = [&](int id) {
    progress.finish();
    return output.add(id);
  };
  const auto on_logits = [&](std::span<const float> row) { logits.add(row); };
  const auto on_prefill = [&](std::size_t done, std::size_t of) {
    progress.at(done);
    if (trace && done == of) trace->decoding();
  };
  TRY_TAKE(report.generation, generate(*engine, make_request(flags, sampling, *engine, prompt),
                                       {on_logits, on_token, on_prefill}, interrupt_flag()));
  output.finish();
  TRY(logits.check());
  if (trace) TRY(trace->finish());

  report.text = output.text();
  report.reasoning = output.reasoning();
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
  CLI::Option* chat = command->add_flag("--chat", flags->chat, "Render the prompt as one user turn of a conversation");
  command->add_option("--system", flags->system, "A system message before it")->type_name("TEXT")->needs(chat);
  command->add_option("--think", flags->think, "off, or how much to think, in the model's own words")
      ->type_name("EFFORT")
      ->needs(chat);
  command->add_option("--max-tokens", flags->max_tokens, "New tokens at most")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 24));
  CLI::Option* const recompute = command->add_flag(
      "--recompute", flags->recompute, "Compute the whole sequence again for each token (same tokens, slow)");
  flags->sampling.add(*command);
  command
      ->add_option("--dump-logits", flags->dump_logits,
                   "Write the logits each token was chosen from: rows of little-endian fp32")
      ->type_name("FILE");
  command->add_option("--trace", flags->trace, "Write the routing: which experts each layer asked for (see trace)")
      ->type_name("FILE")
      ->excludes(recompute);
  command->add_option("--json", flags->json, "Write everything measured; - is standard output")->type_name("FILE");
  command->callback([flags, &chosen] { chosen = [flags] { return run(*flags); }; });
}

}  // namespace sluice::cli
