// A conversation and a reply as plain values that all model families share.
//
// JSON travels as text, exactly as it was sent: what a number or a key order looks like in a prompt is the family's
// business, and nothing is lost on the way to it. All text is UTF-8.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice {

// A developer's message is a system message wherever the format knows no difference. A reminder is what some formats
// put into the conversation beside it, such as the date.
enum class Role { system, developer, user, assistant, tool, latest_reminder };

// By its name; anything else is bad_input that lists them.
Result<Role> parse_role(std::string_view name);
std::string_view role_name(Role role);

struct ContentPart {
  enum class Kind { text, media };
  Kind kind = Kind::text;
  std::string text = {};  // of media: what it is, as in "image_url"
};

struct ToolCall {
  std::string id = {};         // the caller's name for this call; may be empty
  std::string name = {};       // of the tool
  std::string arguments = {};  // JSON, as the model wrote it; empty: none
  // True if the arguments were sent as a JSON object, not as a string: then their spelling means nothing.
  bool arguments_are_object = false;
};

struct Message {
  Role role = Role::user;
  std::string name = {};                  // of the speaker or of the tool; may be empty
  std::vector<ContentPart> content = {};  // each part is a text of its own
  std::string reasoning = {};             // assistant: what it thought before it answered
  std::vector<ToolCall> calls = {};       // assistant
  std::string tool_call_id = {};          // tool: whose result this is; may be empty
  std::vector<std::string> tools = {};    // system: JSON objects of tools that become available here
  // An auxiliary job that the model does after this message instead of answering, in the words of its format ("title").
  std::string task = {};
};

struct Conversation {
  std::vector<std::string> tools = {};  // JSON objects with `type` and `function`, as sent
  std::vector<Message> messages = {};
};

enum class ToolChoice { automatic, none, required };

struct ResponseFormat {
  enum class Kind { text, json_object, json_schema };
  Kind kind = Kind::text;
  std::string schema = {};       // JSON of a schema given by itself; empty: none
  std::string json_schema = {};  // JSON of the `json_schema` object of a request; empty: none
};

// How the next reply is asked for.
struct ChatOptions {
  bool thinking = true;
  std::optional<std::string> effort = {};  // how much to think; the words are the family's; none: say nothing
  // Show the reasoning of earlier turns too, where a format would drop it: longer, but prompts then only grow.
  bool keep_reasoning = false;
  ToolChoice tool_choice = ToolChoice::automatic;
  ResponseFormat response_format = {};
};
// "off", "on", or one of the family's words for how much.
inline void set_thinking(ChatOptions& options, const std::string& word) {
  options.thinking = word != "off";
  options.effort = word == "off" || word == "on" ? std::nullopt : std::optional(word);
}

// What a reply consists of, piece by piece. Texts of one kind that follow one another belong together.
struct ReplyEvent {
  enum class Kind {
    reasoning,   // `text` is the next part of the reasoning
    content,     // `text` is the next part of the answer
    call_begin,  // a tool call; `text` is the tool's name
    argument,    // one argument is there: `key`, and in `text` its value as JSON
    call_end,    // `text` is all arguments as one JSON object, or what the model wrote instead of one
    turn_end,
  };
  Kind kind = Kind::content;
  std::string text = {};
  std::string key = {};
  int call = -1;         // of call events: which call of the reply, from 0
  bool complete = true;  // of call_end and turn_end: false if the reply broke off before its end

  bool operator==(const ReplyEvent&) const = default;
};

}  // namespace sluice
