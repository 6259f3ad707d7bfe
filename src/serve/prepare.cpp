// See prepare.h.
#include "serve/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>

#include "base/counter_random.h"
#include "serve/anthropic.h"
#include "serve/openai_chat.h"
#include "serve/openai_completions.h"
#include "serve/responses.h"

namespace sluice::serve {

namespace {

ApiResult<int> room_for(const ServedModel& model, std::size_t prompt, const char* field) {
  if (prompt == 0) return refuse(400, fmt::format("'{}' must not be empty", field), field);
  if (prompt >= static_cast<std::size_t>(model.context))
    return refuse(400,
                  fmt::format("the prompt has {} tokens, and this server's context is {} tokens of prompt and answer",
                              prompt, model.context),
                  field, "context_length_exceeded");
  return model.context - static_cast<int>(prompt);
}

// What all choices of one prompt have in common. An answer that would not fit is cut at the end of the context.
Request make_request(const GenerationAsk& ask, std::vector<int> prompt, int room) {
  Request request;
  request.prompt = std::move(prompt);
  request.max_tokens = std::min(ask.max_tokens.value_or(room), room);
  request.sampling = ask.sampling;
  request.top_logprobs = ask.top_logprobs;
  return request;
}

std::uint64_t seed_of(const GenerationAsk& ask, std::uint64_t id, std::size_t choice) {
  const std::uint64_t seed = ask.seed.value_or(id);
  return choice == 0 ? seed : counter_random(seed, choice);
}

ReplyNames names_of(const ServedModel& model, const char* prefix, const ReplyId& id) {
  return {fmt::format("{}{:016x}", prefix, id.number), model.name, id.created};
}

TokenText prompt_token(const ServedModel& model, int id) {
  return {std::string(model.tokenizer->bytes(id)), std::nullopt, {}};
}

}  // namespace

namespace {

tl::unexpected<ApiError> no_chat_format() {
  return refuse(400, "this model has no chat format: use /v1/completions", "messages", "unsupported");
}

ApiResult<HeldTo> held_to(const ServedModel& model, Result<Grammar> grammar, const char* field) {
  if (!grammar) return tl::unexpected<ApiError>(to_api_error(grammar.error(), field));
  return HeldTo{std::make_shared<const Grammar>(std::move(*grammar)), std::shared_future(model.order).get()};
}

bool declares(const std::string& tool, const std::string& name) {
  const std::string literal = raw_member(raw_member(tool, "function"), "name");
  return Json::parse(literal, nullptr, false) == name;
}

// What the reply of a chat must look like, by its answer's form and its tools.
ApiResult<HeldTo> form_of_turn(const ServedModel& model, const ChatAsk& ask) {
  ReplyRules rules{.answer = ask.generation.form, .must_call = ask.options.tool_choice == ToolChoice::required};
  if (!rules.must_call && rules.answer.kind == AnswerForm::Kind::free) return HeldTo{};
  if (ask.options.tool_choice != ToolChoice::none) rules.tools = ask.conversation.tools;
  if (!ask.named_tool.empty())
    std::erase_if(rules.tools, [&](const std::string& tool) { return !declares(tool, ask.named_tool); });
  if (rules.must_call && rules.tools.empty())
    return refuse(400,
                  ask.named_tool.empty() ? "a call is required, and 'tools' holds no tool"
                                         : fmt::format("'tools' holds no tool named '{}'", ask.named_tool),
                  ask.named_field);
  return held_to(model, reply_grammar(rules, *model.chat, ask.options),
                 rules.must_call ? "tools" : ask.generation.form_field);
}

// A chat that is ready but for its writer.
ApiResult<Prepared> prepare_turn(const ServedModel& model, const ChatAsk& ask, std::uint64_t id,
                                 const char* field = "messages") {
  Result<std::vector<int>> prompt = model.chat->render(ask.conversation, ask.options);
  if (!prompt) return tl::unexpected<ApiError>(to_api_error(prompt.error(), field));
  const ApiResult<int> room = room_for(model, prompt->size(), field);
  if (!room) return tl::unexpected<ApiError>(room.error());
  ApiResult<HeldTo> form = form_of_turn(model, ask);
  if (!form) return tl::unexpected<ApiError>(std::move(form.error()));
  const GenerationAsk& generation = ask.generation;
  Prepared prepared{{}, nullptr, generation.stream, {.prompt_tokens = prompt->size()}};
  Request request = make_request(generation, std::move(*prompt), *room);
  request.held_to = std::move(*form);
  const std::vector<int> ends = model.chat->stop_ids();
  const std::span<const int> stops = model.config->stop_ids();
  request.stop_ids.assign(stops.begin(), stops.end());
  request.stop_ids.insert(request.stop_ids.end(), ends.begin(), ends.end());
  for (std::size_t choice = 0; choice < static_cast<std::size_t>(generation.n); ++choice) {
    request.seed = seed_of(generation, id, choice);
    auto parser = model.chat->reply_parser(ask.conversation, ask.options);
    prepared.choices.push_back({request, std::make_unique<TextStream>(std::move(parser), generation.stops), {}});
  }
  return prepared;
}

}  // namespace

ApiResult<Prepared> prepare_chat(const ServedModel& model, const std::string& body, const ReplyId& id) {
  if (model.chat == nullptr) return no_chat_format();
  const auto ask = read_chat(body, model.chat->defaults(), model.sampling);
  if (!ask) return tl::unexpected<ApiError>(ask.error());
  auto prepared = prepare_turn(model, *ask, id.number);
  if (prepared)
    prepared->writer = chat_writer(names_of(model, "chatcmpl-", id), {.choices = prepared->choices.size(),
                                                                      .logprobs = ask->generation.top_logprobs >= 0,
                                                                      .stream = ask->generation.stream,
                                                                      .include_usage = ask->generation.include_usage});
  return prepared;
}

ApiResult<Prepared> prepare_response(const ServedModel& model, const std::string& body, const ReplyId& id) {
  if (model.chat == nullptr) return no_chat_format();
  auto ask = read_response(body, model.chat->defaults(), model.sampling);
  if (!ask) return tl::unexpected<ApiError>(ask.error());
  auto prepared = prepare_turn(model, ask->chat, id.number, "input");
  if (prepared)
    prepared->writer = response_writer(names_of(model, "resp_", id), std::move(ask->echo), ask->chat.generation.stream);
  return prepared;
}

ApiResult<Prepared> prepare_messages(const ServedModel& model, const std::string& body, const ReplyId& id) {
  if (model.chat == nullptr) return no_chat_format();
  const auto ask = read_messages(body, model.chat->defaults(), model.sampling, false);
  if (!ask) return tl::unexpected<ApiError>(ask.error());
  auto prepared = prepare_turn(model, *ask, id.number);
  if (prepared)
    prepared->writer =
        messages_writer(names_of(model, "msg_", id), prepared->prompt.prompt_tokens, ask->generation.stream);
  return prepared;
}

ApiResult<std::string> count_tokens(const ServedModel& model, const std::string& body) {
  if (model.chat == nullptr) return no_chat_format();
  const auto ask = read_messages(body, model.chat->defaults(), model.sampling, true);
  if (!ask) return tl::unexpected<ApiError>(ask.error());
  const Result<std::vector<int>> prompt = model.chat->render(ask->conversation, ask->options);
  if (!prompt) return tl::unexpected<ApiError>(to_api_error(prompt.error(), "messages"));
  return dump({{"input_tokens", prompt->size()}});
}

namespace {

ApiResult<std::vector<int>> prompt_ids(const ServedModel& model, RawPrompt prompt) {
  if (const auto* text = std::get_if<std::string>(&prompt)) {
    Result<std::vector<int>> ids = model.tokenizer->encode(*text, SpecialSpelling::text);
    if (!ids) return tl::unexpected<ApiError>(to_api_error(ids.error(), "prompt"));
    return std::move(*ids);
  }
  auto& ids = std::get<std::vector<int>>(prompt);
  const int vocabulary = std::min(model.config->vocab_size(), model.tokenizer->vocab_size());
  for (const int id : ids)
    if (id < 0 || id >= vocabulary)
      return refuse(400, fmt::format("'prompt' holds a token id outside the vocabulary of {}", vocabulary), "prompt");
  return std::move(ids);
}

Piece echo_of(const ServedModel& model, const std::vector<int>& prompt, bool logprobs) {
  Piece echo;
  std::string bytes;
  for (const int id : prompt) bytes += model.tokenizer->bytes(id);
  echo.events.push_back({.kind = ReplyEvent::Kind::content, .text = as_text(bytes)});
  if (logprobs) echo.tokens.push_back(prompt_token(model, prompt.front()));
  return echo;
}

}  // namespace

ApiResult<Prepared> prepare_completion(const ServedModel& model, const std::string& body, const ReplyId& id) {
  auto ask = read_completion(body, model.sampling);
  if (!ask) return tl::unexpected<ApiError>(std::move(ask.error()));
  const GenerationAsk& generation = ask->generation;
  Prepared prepared{{}, nullptr, generation.stream, {}};
  const std::span<const int> stops = model.config->stop_ids();
  HeldTo form;
  if (generation.form.kind != AnswerForm::Kind::free) {
    ApiResult<HeldTo> made = held_to(model, text_grammar(generation.form), generation.form_field);
    if (!made) return tl::unexpected<ApiError>(std::move(made.error()));
    form = std::move(*made);
  }
  for (RawPrompt& raw : ask->prompts) {
    auto ids = prompt_ids(model, std::move(raw));
    if (!ids) return tl::unexpected<ApiError>(std::move(ids.error()));
    const ApiResult<int> room = room_for(model, ids->size(), "prompt");
    if (!room) return tl::unexpected<ApiError>(room.error());
    prepared.prompt.prompt_tokens += ids->size();
    Request request = make_request(generation, std::move(*ids), *room);
    request.stop_ids.assign(stops.begin(), stops.end());
    request.held_to = form;
    request.prompt_logprobs = ask->echo && generation.top_logprobs >= 0;
    for (int choice = 0; choice < generation.n; ++choice) {
      request.seed = seed_of(generation, id.number, prepared.choices.size());
      prepared.choices.push_back({request, std::make_unique<TextStream>(*model.tokenizer, generation.stops),
                                  ask->echo ? echo_of(model, request.prompt, request.prompt_logprobs) : Piece{}});
    }
  }
  prepared.writer = completion_writer(names_of(model, "cmpl-", id), {.choices = prepared.choices.size(),
                                                                     .logprobs = generation.top_logprobs >= 0,
                                                                     .stream = generation.stream,
                                                                     .include_usage = generation.include_usage});
  return prepared;
}

ApiResult<std::string> tokenize(const ServedModel& model, const std::string& raw) {
  const auto json = parse_body(raw);
  if (!json) return tl::unexpected<ApiError>(json.error());
  const Body body(*json);
  std::vector<int> ids;
  if (body.has("messages")) {
    if (model.chat == nullptr) return no_chat_format();
    const auto ask = read_chat(raw, model.chat->defaults(), model.sampling);
    if (!ask) return tl::unexpected<ApiError>(ask.error());
    Result<std::vector<int>> rendered = model.chat->render(ask->conversation, ask->options);
    if (!rendered) return tl::unexpected<ApiError>(to_api_error(rendered.error(), "messages"));
    ids = std::move(*rendered);
  } else {
    const char* const field = body.has("prompt") ? "prompt" : "content";
    const std::string text = body.text(field);
    const bool special = body.flag_or("special", false);
    if (const auto& fault = body.fault()) return tl::unexpected<ApiError>(*fault);
    Result<std::vector<int>> encoded =
        model.tokenizer->encode(text, special ? SpecialSpelling::token : SpecialSpelling::text);
    if (!encoded) return tl::unexpected<ApiError>(to_api_error(encoded.error(), field));
    ids = std::move(*encoded);
  }
  return dump({{"tokens", ids}, {"count", ids.size()}, {"max_model_len", model.context}});
}

ApiResult<std::string> detokenize(const ServedModel& model, const std::string& raw) {
  const auto json = parse_body(raw);
  if (!json) return tl::unexpected<ApiError>(json.error());
  const Body body(*json);
  const Json* const tokens = body.list("tokens");
  if (tokens == nullptr) body.wrong("tokens", "is missing");
  std::string bytes;
  const auto vocabulary = static_cast<std::uint64_t>(model.tokenizer->vocab_size());
  for (std::size_t index = 0; tokens != nullptr && index < tokens->size(); ++index) {
    const Json& id = (*tokens)[index];
    if (id.is_number_unsigned() && id.get<std::uint64_t>() < vocabulary)
      bytes += model.tokenizer->bytes(id.get<int>());
    else
      body.wrong(fmt::format("tokens[{}]", index).c_str(), fmt::format("must be a token id below {}", vocabulary));
  }
  if (const auto& fault = body.fault()) return tl::unexpected<ApiError>(*fault);
  const std::string text = as_text(bytes);
  return dump({{"content", text}, {"prompt", text}});
}

}  // namespace sluice::serve
