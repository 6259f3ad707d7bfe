// A conversation in the terminal: what was said, and the model's answers to it.
//
// Knows no commands and no keyboard. Owned by the main thread, which computes the answers too.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/report.h"
#include "models/chat_format.h"

namespace sluice::cli {

struct ChatSettings {
  SamplingParams sampling;
  std::uint64_t seed = 0;
  std::vector<std::string> stops;
  int max_tokens = 0;  // of one answer; 0: as many as the context has room for
  ChatOptions options;
};

class ChatSession {
 public:
  // The engine has a tokenizer, and outlives the session.
  ChatSession(Engine& engine, std::unique_ptr<ChatFormat> format, ChatSettings settings);

  // Answers, on standard output as it comes. An answer that was stopped is kept as far as it got. If there is none at
  // all, or it fails, the conversation is as before.
  Result<> say(std::string text);
  // Answers the last thing that was said once more, with other draws. bad_input if nothing was.
  Result<> regenerate();
  // Forgets the last thing that was said and its answer. bad_input if there is none.
  Result<> undo();

  const std::vector<Message>& messages() const { return conversation_.messages; }
  void start_from(std::vector<Message> messages) { conversation_.messages = std::move(messages); }
  // Empty: none.
  void set_system(const std::string& text);
  std::string system() const;
  // "off", "on", or how much, in the words of the model's format.
  void set_thinking(const std::string& word);

  // Of the last answer.
  const std::optional<RunReport>& last() const { return last_; }
  const Engine& engine() const { return engine_; }

 private:
  Result<> answer();
  Result<Message> compute(std::vector<int> prompt, int room);
  bool has_answer() const;

  Engine& engine_;
  std::unique_ptr<ChatFormat> format_;
  ChatSettings settings_;
  Conversation conversation_;
  std::optional<RunReport> last_;
  int attempt_ = 0;  // at the answer in hand: 0 is the first
};

}  // namespace sluice::cli
