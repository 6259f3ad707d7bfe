// A conversation as DeepSeek-V4's format orders it before it is written (spec section 6.1): results of tools are a
// user's words, and what one speaker says in a row is one turn.
#pragma once

#include <string>
#include <vector>

#include "text/messages.h"

namespace sluice::deepseek_v4 {

struct Block {
  bool is_result = false;  // of a tool
  std::string call_id = {}, text = {};
};

struct Turn {
  Role role = Role::user;          // never tool
  std::string text = {};           // of roles other than user
  std::vector<Block> blocks = {};  // of a user
  std::string task = {};
  const Message* message = nullptr;  // an assistant's; of a system or developer: whose tools these are
};

// The texts of a message's parts as one.
std::string text_of(const Message& message);

// Keeps references to the messages.
std::vector<Turn> order_turns(const std::vector<Message>& messages);

// The place of the last turn of a user or developer, or -1.
std::ptrdiff_t last_question(const std::vector<Turn>& turns);

}  // namespace sluice::deepseek_v4
