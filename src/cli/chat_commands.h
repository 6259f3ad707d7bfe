// What a line that begins with / does in `sluice chat`. A new command: its row in the table of chat_commands.cpp.
#pragma once

#include <string>

#include "cli/chat_session.h"

namespace sluice::cli {

enum class AfterCommand { go_on, quit };

// The conversation's file is kept in step with what a command does to the conversation.
class ConversationLog {
 public:
  // Empty path: nothing is kept. What the session holds already is in the file.
  ConversationLog(std::string path, const ChatSession& session) : path_(std::move(path)), kept_(session.messages()) {}
  // Appends what is new; where older messages changed, the file is written anew.
  Result<> update(const ChatSession& session);
  // The file stays as it is from now on.
  void leave() { path_.clear(); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::vector<Message> kept_;
};

// `line` begins with a slash. bad_input for what is no command, or cannot be done.
Result<AfterCommand> run_command(const std::string& line, ChatSession& session, ConversationLog& log);

}  // namespace sluice::cli
