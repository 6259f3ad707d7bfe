// What a chat is asked for, whichever API says it, and what the APIs say alike.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "serve/generation_ask.h"
#include "text/messages.h"

namespace sluice::serve {

struct ChatAsk {
  GenerationAsk generation;
  Conversation conversation;
  ChatOptions options;
  std::string named_tool = {};              // the one that must be called; empty: any
  const char* named_field = "tool_choice";  // that named it
};

// A string, or a list of parts that say text. Others are passed on as media: whether the model can take it is its
// format's business.
std::vector<ContentPart> read_parts(const Body& body, const char* name);

// Tools as {"type": `type`, name, description, `schema`: ...}, rewritten as chat formats know them: {"type":
// "function", "function": {name, description, parameters}}. `raw` is the body as it was sent: schemas go into the
// prompt spelled as there. Tools that only an API's own servers carry out are left out: nobody here can.
bool is_hosted(std::string_view type);
std::vector<std::string> read_tools(const Body& body, std::string_view raw, const char* type, const char* schema);

// OpenAI's `tool_choice`: a word, or a function named there (`nested`: in its object "function").
void read_tool_choice(const Body& body, bool nested, ChatAsk& ask);
// `name` of `choice` must be called.
void name_tool(const Body& choice, ChatAsk& ask);

}  // namespace sluice::serve
