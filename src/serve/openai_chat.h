// /v1/chat/completions: JSON to a request and pieces of a reply to JSON.
#pragma once

#include <memory>
#include <string>

#include "serve/chat_ask.h"
#include "serve/reply_writer.h"

namespace sluice::serve {

ApiResult<ChatAsk> read_chat(std::string_view raw, const ChatOptions& defaults, const SamplingParams& sampling);

struct ChatReplyOptions {
  std::size_t choices = 1;
  bool logprobs = false, stream = false, include_usage = false;
};
std::unique_ptr<ReplyWriter> chat_writer(ReplyNames names, const ChatReplyOptions& options);

}  // namespace sluice::serve
