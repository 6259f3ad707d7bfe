// See chat_ask.h.
#include "serve/chat_ask.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/json_text.h"

namespace sluice::serve {

std::vector<ContentPart> read_parts(const Body& body, const char* name) {
  const Json* const content = body.find(name);
  if (content == nullptr) return {};
  if (content->is_string()) return {{.text = content->get<std::string>()}};
  std::vector<ContentPart> parts;
  if (!content->is_array()) {
    body.wrong(name, "must be a string or a list of parts");
    return parts;
  }
  for (std::size_t index = 0; index < content->size(); ++index) {
    const Body part = body.element(name, *content, index);
    const std::string type = part.text("type");
    constexpr const char* kTexts[] = {"text", "input_text", "output_text", "summary_text", "reasoning_text"};
    if (std::ranges::find(kTexts, type) != std::end(kTexts))
      parts.push_back({.text = part.text("text")});
    else if (type == "refusal")
      parts.push_back({.text = part.text("refusal")});
    else
      parts.push_back({.kind = ContentPart::Kind::media, .text = type});
  }
  return parts;
}

bool is_hosted(std::string_view type) {  // types carry the date of their revision
  constexpr std::string_view kHosted[] = {"web_search",     "web_fetch",        "file_search", "code_interpreter",
                                          "code_execution", "image_generation", "mcp"};
  return std::ranges::any_of(kHosted, [&](std::string_view hosted) { return type.starts_with(hosted); });
}

std::vector<std::string> read_tools(const Body& body, std::string_view raw, const char* type, const char* schema) {
  std::vector<std::string> tools;
  const Json* const list = body.list("tools");
  if (list == nullptr) return tools;
  const std::vector<std::string> spelled = raw_elements(raw_member(raw, "tools"));
  for (std::size_t index = 0; index < list->size() && index < spelled.size(); ++index) {
    const Body tool = body.element("tools", *list, index);
    const std::string said = tool.text_or("type", type);
    if (is_hosted(said)) continue;
    if (said != type) tool.wrong("type", fmt::format("must be {}: tools known by their type are not supported", type));
    const std::string name = tool.text("name"), description = tool.text_or("description", {});
    tool.object(schema);
    const std::string parameters = tool.has(schema) ? raw_member(spelled[index], schema) : std::string();
    tools.push_back(fmt::format(R"({{"type":"function","function":{{"name":{}{}{}}}}})", json_string(name),
                                description.empty() ? "" : ",\"description\":" + json_string(description),
                                parameters.empty() ? "" : ",\"parameters\":" + parameters));
  }
  return tools;
}

void name_tool(const Body& choice, ChatAsk& ask) {
  ask.options.tool_choice = ToolChoice::required;
  ask.named_tool = choice.text("name");
}

void read_tool_choice(const Body& body, bool nested, ChatAsk& ask) {
  const Json* const choice = body.find("tool_choice");
  if (choice == nullptr) return;
  if (choice->is_object()) {
    const Body named = body.object("tool_choice");
    if (named.text("type") != "function") named.wrong("type", "must be function");
    name_tool(nested ? named.object("function") : named, ask);
    ask.named_field = nested ? "tool_choice.function.name" : "tool_choice.name";
  } else if (*choice == "none") {
    ask.options.tool_choice = ToolChoice::none;
  } else if (*choice == "required") {
    ask.options.tool_choice = ToolChoice::required;
  } else if (*choice != "auto") {
    body.wrong("tool_choice", "must be auto, none, required or a function by its name");
  }
}

}  // namespace sluice::serve
