// See chat_turns.h.
#include "models/deepseek_v4/chat_turns.h"

#include <algorithm>
#include <map>

namespace sluice::deepseek_v4 {

namespace {

// Puts the results among a user's blocks in the order of the calls they answer; other blocks keep their places. A
// result of no known call counts as one of the first.
void order_results(std::vector<Block>& blocks, const std::map<std::string, std::size_t>& calls) {
  std::vector<Block> results;
  for (const Block& block : blocks)
    if (block.is_result) results.push_back(block);
  const auto place = [&](const Block& block) {
    const auto call = calls.find(block.call_id);
    return call == calls.end() ? 0 : call->second;
  };
  std::ranges::stable_sort(results, {}, place);
  auto next = results.begin();
  for (Block& block : blocks)
    if (block.is_result) block = *next++;
}

// A block joins the user's turn before it; a text does not if that turn ends with a task.
void add_block(Block block, const std::string& task, std::vector<Turn>& turns) {
  const bool joins =
      !turns.empty() && turns.back().role == Role::user && (block.is_result || turns.back().task.empty());
  if (!joins) turns.push_back({.role = Role::user});
  turns.back().blocks.push_back(std::move(block));
  if (!task.empty()) turns.back().task = task;
}

}  // namespace

std::string text_of(const Message& message) {
  std::string text;
  for (std::size_t part = 0; part < message.content.size(); ++part)
    text += (part == 0 ? "" : "\n\n") + message.content[part].text;
  return text;
}

std::vector<Turn> order_turns(const std::vector<Message>& messages) {
  std::vector<Turn> turns;
  for (const Message& message : messages) {
    if (message.role == Role::user || message.role == Role::tool)
      add_block({message.role == Role::tool, message.tool_call_id, text_of(message)}, message.task, turns);
    else
      turns.push_back({message.role, text_of(message), {}, message.task, &message});
  }
  std::map<std::string, std::size_t> calls;  // of the last turn that made some
  for (Turn& turn : turns) {
    if (turn.role == Role::user && !calls.empty()) order_results(turn.blocks, calls);
    if (turn.role != Role::assistant || turn.message->calls.empty()) continue;
    calls.clear();
    for (const ToolCall& call : turn.message->calls) calls.emplace(call.id, calls.size());
  }
  return turns;
}

std::ptrdiff_t last_question(const std::vector<Turn>& turns) {
  const auto asks = [](const Turn& turn) { return turn.role == Role::user || turn.role == Role::developer; };
  return std::find_if(turns.rbegin(), turns.rend(), asks).base() - turns.begin() - 1;
}

}  // namespace sluice::deepseek_v4
