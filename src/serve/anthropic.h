// /v1/messages: Anthropic's JSON to a request and pieces of a reply to JSON.
#pragma once

#include <memory>

#include "serve/chat_ask.h"
#include "serve/reply_writer.h"

namespace sluice::serve {

// `counted`: the request is only counted, so max_tokens may be missing.
ApiResult<ChatAsk> read_messages(std::string_view raw, const ChatOptions& defaults, const SamplingParams& sampling,
                                 bool counted);

std::unique_ptr<ReplyWriter> messages_writer(ReplyNames names, std::size_t prompt_tokens, bool stream);

// {"type": "error", "error": {type, message}}
HttpReply to_messages_reply(const ApiError& error);

}  // namespace sluice::serve
