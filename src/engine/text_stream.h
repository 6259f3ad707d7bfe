// The text of one reply, token by token: ids become pieces that are certain, cut where a stop string begins.
//
// Every piece is valid UTF-8, and together they do not depend on how the tokens arrive. Stop strings are looked for in
// the answer, not in reasoning or tool calls, and not across them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "generate/stop.h"
#include "models/chat_format.h"
#include "text/tokenizer.h"
#include "text/utf8_stream.h"

namespace sluice {

class TextStream {
 public:
  // Raw text: all tokens but those that are markup and nothing else. The tokenizer must outlive it.
  TextStream(const Tokenizer& tokenizer, std::vector<std::string> stops);
  // The reply of a chat.
  TextStream(std::unique_ptr<ReplyParser> parser, std::vector<std::string> stops);

  // Appends what became certain. Nothing is, once a stop string was met.
  void push(int id, std::vector<ReplyEvent>& pieces);
  void finish(std::vector<ReplyEvent>& pieces);
  bool stop_met() const { return stops_.met(); }
  const std::string& stop_string() const { return stops_.which(); }  // that was met; empty if none

 private:
  void take(std::vector<ReplyEvent>& pieces);
  void say(std::string text, std::vector<ReplyEvent>& pieces);

  const Tokenizer* tokenizer_ = nullptr;
  Utf8Stream utf8_;
  std::unique_ptr<ReplyParser> parser_;
  StopStrings stops_;
  std::vector<ReplyEvent> parsed_;
};

}  // namespace sluice
