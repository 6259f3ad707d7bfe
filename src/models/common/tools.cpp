// See tools.h.
#include "models/common/tools.h"

#include <nlohmann/json.hpp>

#include "text/schema_strings.h"

namespace sluice {

namespace {

Result<std::vector<JsonMember>> python_members(std::string_view json, std::string_view what) {
  TRY_TAKE(const std::string restyled, restyle_json(json, kPythonDefault));
  auto members = json_members(restyled);
  if (!members) return fail(ErrorKind::bad_input, std::string(what) + " is no JSON object");
  return std::move(*members);
}

}  // namespace

Result<std::vector<JsonMember>> function_members(std::string_view tool) {
  TRY_TAKE(std::vector<JsonMember> members, python_members(tool, "its declaration"));
  const auto function = std::ranges::find(members, "function", &JsonMember::key);
  if (function == members.end()) return members;
  return python_members(function->literal, "its function");
}

std::string object_of(std::span<const JsonMember> members) {
  std::string text;
  for (const JsonMember& member : members)
    text += (text.empty() ? "" : ", ") + json_string(member.key) + ": " + member.literal;
  return "{" + text + "}";
}

Result<std::vector<JsonMember>> argument_members(const ToolCall& call) {
  if (call.arguments.empty()) return std::vector<JsonMember>{};
  return python_members(call.arguments, "the call's arguments");
}

StringArguments::StringArguments(std::span<const std::string> tools) {
  for (const std::string& tool : tools) {
    const nlohmann::ordered_json parsed = nlohmann::ordered_json::parse(tool, nullptr, false);
    if (!parsed.is_object()) continue;
    const auto inner = parsed.find("function");
    const nlohmann::ordered_json& function = inner != parsed.end() ? *inner : parsed;
    const nlohmann::ordered_json name =
        function.is_object() ? function.value("name", nlohmann::ordered_json()) : nlohmann::ordered_json();
    if (!name.is_string()) continue;
    const nlohmann::ordered_json parameters = function.value("parameters", nlohmann::ordered_json::object());
    if (!parameters.is_object()) continue;
    of_tool_[name.get<std::string>()] = string_members(parameters);
  }
}

bool StringArguments::has(const std::string& tool, const std::string& argument) const {
  const auto found = of_tool_.find(tool);
  return found != of_tool_.end() && found->second.contains(argument);
}

}  // namespace sluice
