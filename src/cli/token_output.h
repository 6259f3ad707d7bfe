// What becomes of generated tokens: text on standard output as it comes, and kept for who asked.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/text_stream.h"

namespace sluice::cli {

// The answer goes to standard output, tool calls in it as their name and the model's JSON; reasoning goes to standard
// error, dim on a terminal.
class TokenOutput {
 public:
  // `stream` null: ids, separated by commas, for checkpoints without a tokenizer. Not `shown`: standard output belongs
  // to JSON.
  TokenOutput(std::unique_ptr<TextStream> stream, bool shown);

  // False: nothing more is wanted (a stop string is complete).
  bool add(int id);
  void finish();

  const std::string& text() const { return text_; }            // all that was shown but the reasoning
  const std::string& reasoning() const { return reasoning_; }  // of a chat reply
  // The answer and the tool calls of a chat reply.
  const std::string& answer() const { return answer_; }
  const std::vector<ToolCall>& calls() const { return calls_; }

 private:
  void tell();
  void show(const std::string& text);
  void think(const std::string& text);
  void end_reasoning();

  std::unique_ptr<TextStream> stream_;
  std::vector<ReplyEvent> pieces_;
  bool shown_, on_terminal_, dim_, thinking_ = false;
  std::string text_, reasoning_, answer_;
  std::vector<ToolCall> calls_;
};

}  // namespace sluice::cli
