// How a family writes a conversation as token ids and reads the model's reply.
//
// Both work on ids, not on one long text: structure is made of control tokens, and nothing that a user, a document or a
// tool wrote can become one.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
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

// The fixed tokens of a reply, for replies that are held to a form: just those that the model was taught to write.
struct ReplyForm {
  bool thinks = false;                // the prompt ends inside the reasoning, which is any text
  std::vector<int> to_answer = {};    // from there, or from the prompt's end, to the answer's first token
  std::vector<int> answer_ends = {};  // any of them ends the answer
};

// The same of a call of one tool, from where the reasoning or the prompt ends.
struct CallForm {
  struct Argument {
    std::vector<int> before, after;  // its value
  };
  std::vector<int> begin = {};  // with the tool's name
  std::vector<Argument> arguments = {};
  std::vector<int> end = {};
  std::vector<int> ends = {};  // any of them, and nothing follows
};
struct CallArgument {
  std::string name;
  std::string type;  // "string": the value is written without quotes; else JSON: "number", "boolean", "object", ...
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

  // unsupported for formats that say neither.
  virtual Result<ReplyForm> reply_form(const ChatOptions& /*options*/) const {
    return fail(ErrorKind::unsupported, "the chat format of this model cannot hold answers to a form");
  }
  virtual Result<CallForm> call_form(const ChatOptions& /*options*/, std::string_view /*tool*/,
                                     std::span<const CallArgument> /*arguments*/) const {
    return fail(ErrorKind::unsupported, "the chat format of this model cannot force a tool call");
  }
};

}  // namespace sluice
