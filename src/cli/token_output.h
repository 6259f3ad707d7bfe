// What becomes of generated tokens: text on standard output as it comes, and kept for the report.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/chat_format.h"
#include "text/tokenizer.h"

namespace sluice::cli {

class TokenOutput {
 public:
  virtual ~TokenOutput() = default;
  // False: nothing more is wanted (a stop string is complete).
  virtual bool add(int id) = 0;
  virtual void finish() = 0;

  const std::string& text() const { return text_; }            // the result
  const std::string& reasoning() const { return reasoning_; }  // of a chat reply

 protected:
  std::string text_, reasoning_;
};

struct OutputOptions {
  std::vector<std::string> stops;
  bool shown = true;  // false: standard output belongs to JSON
};

// Ids, separated by commas: for checkpoints without a tokenizer.
std::unique_ptr<TokenOutput> id_output(const OutputOptions& options);
// The raw text of all tokens but special ones, never half a character.
std::unique_ptr<TokenOutput> text_output(const Tokenizer& tokenizer, const OutputOptions& options);
// The answer of a chat reply; its reasoning goes to standard error. Tool calls are shown as the model's JSON.
std::unique_ptr<TokenOutput> chat_output(std::unique_ptr<ReplyParser> parser, const OutputOptions& options);

}  // namespace sluice::cli
