// /v1/responses: OpenAI's other JSON to a request and pieces of a reply to JSON.
//
// Nothing is stored: a conversation is sent whole, as `input`. Output is a list of items: reasoning, a message, calls.
#pragma once

#include <memory>

#include "serve/chat_ask.h"
#include "serve/reply_writer.h"

namespace sluice::serve {

// What a request said that its answer repeats.
struct ResponseEcho {
  Json fields = Json::object();
};
struct ResponseAsk {
  ChatAsk chat;
  ResponseEcho echo;
};

ApiResult<ResponseAsk> read_response(std::string_view raw, const ChatOptions& defaults, const SamplingParams& sampling);

std::unique_ptr<ReplyWriter> response_writer(ReplyNames names, ResponseEcho echo, bool stream);

}  // namespace sluice::serve
