// Tools and tool calls of a conversation, taken apart for chat formats that write them piece by piece.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/json_text.h"
#include "text/messages.h"

namespace sluice {

// The `function` of a tool's declaration (or the declaration itself where it has none): its members, with values in
// Python's spelling. bad_input if it is no JSON object.
Result<std::vector<JsonMember>> function_members(std::string_view tool);

// Members as one object in Python's spelling.
std::string object_of(std::span<const JsonMember> members);

// The arguments of a call in history, with values in Python's spelling. bad_input if they are no JSON object; none are
// an empty one.
Result<std::vector<JsonMember>> argument_members(const ToolCall& call);

// Which arguments of which tools are strings and nothing else, as their schemas say.
class StringArguments {
 public:
  explicit StringArguments(std::span<const std::string> tools);
  bool has(const std::string& tool, const std::string& argument) const;

 private:
  std::map<std::string, std::set<std::string>> of_tool_;
};

}  // namespace sluice
