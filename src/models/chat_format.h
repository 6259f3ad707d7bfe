// How a family writes a conversation as token ids and reads the model's reply.
//
// Both work on ids, not on one long text: structure is made of control tokens, and nothing that a user, a document or a
// tool wrote can become one.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "text/messages.h"

namespace sluice {

// Reads one reply, token by token. What it reports does not depend on how the tokens arrive.
class ReplyParser {
 public:
  virtual ~ReplyParser() = default;

  // Appends what became certain to `events`; text that continues the last event is added to it. Never fails: a model
  // may write anything. Tokens after the end of the turn are ignored.
  virtual void push(std::span<const int> ids, std::vector<ReplyEvent>& events) = 0;
  // The reply ends here, wherever that is: what is held back is delivered. Does nothing after the end of the turn.
  virtual void finish(std::vector<ReplyEvent>& events) = 0;
};

class ChatFormat {
 public:
  virtual ~ChatFormat() = default;

  // What the family's own program asks for if the caller does not say.
  virtual ChatOptions defaults() const = 0;
  // The prompt up to where the model continues. bad_input or unsupported if the format cannot say it; names the
  // message.
  virtual Result<std::vector<int>> render(const Conversation& conversation, const ChatOptions& options) const = 0;
  // For the reply to a prompt that was rendered from these: how a reply begins and what its arguments mean depends on
  // them. The format must outlive the parser.
  virtual std::unique_ptr<ReplyParser> reply_parser(const Conversation& conversation,
                                                    const ChatOptions& options) const = 0;
  // Tokens that end the turn.
  virtual std::vector<int> stop_ids() const = 0;
};

}  // namespace sluice
