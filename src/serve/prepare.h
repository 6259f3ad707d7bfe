// From the body of a request to work for the engine: reading, rendering, tokenizing, checking. Pure and without the
// engine, so that it can run beside it; the endpoints that generate differ here and in their writers only.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "engine/request.h"
#include "engine/text_stream.h"
#include "models/model.h"
#include "serve/reply_writer.h"

namespace sluice::serve {

// The model as the endpoints know it. All of it outlives them and may be used from any thread.
struct ServedModel {
  std::string name;
  const ModelConfig* config = nullptr;
  const Tokenizer* tokenizer = nullptr;
  const ChatFormat* chat = nullptr;  // null: the model has none
  int context = 0;                   // tokens of prompt and answer together
  SamplingParams sampling;           // what is meant where a caller says nothing
  // For answers that are held to a form; made when the first one asks.
  std::shared_future<std::shared_ptr<const VocabularyOrder>> order = {};
  std::int64_t created = 0;  // Unix seconds
};

// One answer of a request that may want several.
struct PreparedChoice {
  Request request;
  std::unique_ptr<TextStream> text;
  Piece echo;  // said before anything is generated
};

struct Prepared {
  std::vector<PreparedChoice> choices;
  std::unique_ptr<ReplyWriter> writer;
  bool stream = false;
  Usage prompt;  // of all choices together: a prompt that several choices share counts once
};

// Names a reply, and seeds it where the caller gives no seed.
struct ReplyId {
  std::uint64_t number = 0;
  std::int64_t created = 0;  // Unix seconds
};
ApiResult<Prepared> prepare_chat(const ServedModel& model, const std::string& body, const ReplyId& id);
ApiResult<Prepared> prepare_completion(const ServedModel& model, const std::string& body, const ReplyId& id);
ApiResult<Prepared> prepare_response(const ServedModel& model, const std::string& body, const ReplyId& id);
ApiResult<Prepared> prepare_messages(const ServedModel& model, const std::string& body, const ReplyId& id);

// Anthropic's /v1/messages/count_tokens: the body of the answer.
ApiResult<std::string> count_tokens(const ServedModel& model, const std::string& body);
// /tokenize and /detokenize: the body of the answer.
ApiResult<std::string> tokenize(const ServedModel& model, const std::string& body);
ApiResult<std::string> detokenize(const ServedModel& model, const std::string& body);

}  // namespace sluice::serve
