// See openai_completions.h.
#include "serve/openai_completions.h"

#include <algorithm>
#include <climits>

namespace sluice::serve {

namespace {

constexpr int kUsualMaxTokens = 16;  // what the API promises if the caller does not say

bool is_ids(const Json& list) {
  return !list.empty() && std::ranges::all_of(list, [](const Json& one) { return one.is_number_integer(); });
}

void add_prompt(const Body& body, const Json& prompt, std::vector<RawPrompt>& prompts) {
  if (prompt.is_string()) {
    prompts.emplace_back(prompt.get<std::string>());
  } else if (prompt.is_array() && is_ids(prompt)) {
    std::vector<int> ids;
    for (const Json& id : prompt) {  // what is no int is no id: -1 is refused with the others
      const bool fits = id.is_number_unsigned() && id.get<std::uint64_t>() <= INT_MAX;
      ids.push_back(fits ? id.get<int>() : -1);
    }
    prompts.emplace_back(std::move(ids));
  } else {
    body.wrong("prompt", "must be a string, a list of token ids, or a list of those");
  }
}

std::vector<RawPrompt> read_prompts(const Body& body) {
  std::vector<RawPrompt> prompts;
  const Json* const prompt = body.find("prompt");
  if (prompt == nullptr) {
    body.wrong("prompt", "is missing");
  } else if (prompt->is_array() && !prompt->empty() && !is_ids(*prompt)) {
    for (const Json& one : *prompt) add_prompt(body, one, prompts);
  } else {
    add_prompt(body, *prompt, prompts);
  }
  return prompts;
}

}  // namespace

ApiResult<CompletionAsk> read_completion(std::string_view raw, const SamplingParams& sampling) {
  auto json = parse_body(raw);
  if (!json) return tl::unexpected<ApiError>(std::move(json.error()));
  const Body body(*json);
  CompletionAsk ask;
  ask.prompts = read_prompts(body);
  ask.generation = read_generation(body, sampling);
  ask.generation.max_tokens = static_cast<int>(body.integer_or("max_tokens", kUsualMaxTokens, 0, INT_MAX));
  if (body.has("logprobs"))
    ask.generation.top_logprobs = static_cast<int>(body.integer_or("logprobs", 0, 0, kMostTopLogprobs));
  ask.echo = body.flag_or("echo", false);
  read_form(body, raw, ask.generation);
  if (!body.text_or("suffix", {}).empty()) body.wrong("suffix", "is not supported");
  if (body.integer_or("best_of", 1, 1, INT_MAX) > ask.generation.n)
    body.wrong("best_of", "must not be more than n: choices are not ranked");
  if (ask.prompts.size() * static_cast<std::size_t>(ask.generation.n) > kMostChoices)
    body.wrong("n", "times the number of prompts is more than 128 choices");
  if (ask.generation.max_tokens == 0 && !ask.echo) body.wrong("max_tokens", "must be at least 1 without echo");
  if (const auto& fault = body.fault()) return tl::unexpected<ApiError>(*fault);
  return ask;
}

namespace {

struct CompletionChoice {
  std::string text;
  std::size_t text_offset = 0;    // characters of the tokens told so far
  std::vector<TokenText> tokens;  // in a stream: of text that is not certain yet
  Finish finish = Finish::length;
};

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }));
}

Json number_or_null(const std::optional<double>& number) {
  return number ? Json(std::max(*number, -9999.0)) : Json(nullptr);
}

Json completion_logprobs(CompletionChoice& choice) {
  Json tokens = Json::array(), logprobs = Json::array(), top = Json::array(), offsets = Json::array();
  for (const TokenText& token : std::exchange(choice.tokens, {})) {
    const std::string text = as_text(token.bytes);
    tokens.push_back(text);
    logprobs.push_back(number_or_null(token.logprob));
    Json alternatives = Json::object();
    for (const auto& [bytes, logprob] : token.top) alternatives[as_text(bytes)] = std::max(logprob, -9999.0);
    if (token.logprob) alternatives[text] = std::max(*token.logprob, -9999.0);
    top.push_back(token.logprob ? std::move(alternatives) : Json(nullptr));
    offsets.push_back(choice.text_offset);
    choice.text_offset += characters(text);
  }
  return {{"tokens", std::move(tokens)},
          {"token_logprobs", std::move(logprobs)},
          {"top_logprobs", std::move(top)},
          {"text_offset", std::move(offsets)}};
}

class CompletionWriter final : public ReplyWriter {
 public:
  CompletionWriter(ReplyNames names, const CompletionReplyOptions& options)
      : names_(std::move(names)), options_(options), choices_(options.choices) {}

  std::string piece(std::size_t index, Piece piece) override {
    CompletionChoice& choice = choices_[index];
    choice.tokens.insert(choice.tokens.end(), piece.tokens.begin(), piece.tokens.end());
    std::string text;
    for (const ReplyEvent& event : piece.events)
      if (event.kind == ReplyEvent::Kind::content) text += event.text;
    if (!options_.stream) {
      choice.text += text;
      return {};
    }
    return text.empty() ? std::string() : chunk(index, text, nullptr);
  }

  std::string choice_end(std::size_t index, const ChoiceEnd& end) override {
    choices_[index].finish = end.finish;
    return options_.stream ? chunk(index, "", finish_reason(choices_[index])) : std::string();
  }

  std::string stream_begin() override { return {}; }

  std::string stream_end(const Usage& usage) override {
    std::string stream;
    if (options_.include_usage) {
      Json last = head();
      last["choices"] = Json::array();
      last["usage"] = usage_json(usage);
      stream = sse_data(dump(last));
    }
    return stream + sse_data("[DONE]");
  }

  std::string stream_error(const ApiError& error) override { return sse_data(dump(to_json(error))); }

  std::string whole(const Usage& usage) override {
    Json body = head();
    body["choices"] = Json::array();
    for (std::size_t index = 0; index < choices_.size(); ++index) {
      CompletionChoice& choice = choices_[index];
      body["choices"].push_back(choice_json(index, choice.text, finish_reason(choice)));
    }
    body["usage"] = usage_json(usage);
    return dump(body);
  }

 private:
  Json head() const {
    return {{"id", names_.id}, {"object", "text_completion"}, {"created", names_.created}, {"model", names_.model}};
  }
  static const char* finish_reason(const CompletionChoice& choice) {
    return choice.finish == Finish::length ? "length" : "stop";
  }

  Json choice_json(std::size_t index, const std::string& text, const char* finish) {
    Json logprobs = options_.logprobs ? completion_logprobs(choices_[index]) : Json(nullptr);
    return {{"text", text},
            {"index", index},
            {"logprobs", std::move(logprobs)},
            {"finish_reason", finish == nullptr ? Json(nullptr) : Json(finish)}};
  }

  std::string chunk(std::size_t index, const std::string& text, const char* finish) {
    Json one = head();
    one["choices"] = Json::array({choice_json(index, text, finish)});
    return sse_data(dump(one));
  }

  ReplyNames names_;
  CompletionReplyOptions options_;
  std::vector<CompletionChoice> choices_;
};

}  // namespace

std::unique_ptr<ReplyWriter> completion_writer(ReplyNames names, const CompletionReplyOptions& options) {
  return std::make_unique<CompletionWriter>(std::move(names), options);
}

}  // namespace sluice::serve
