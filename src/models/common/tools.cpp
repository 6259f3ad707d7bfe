// See tools.h.
#include "models/common/tools.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sluice {

namespace {

Result<std::vector<JsonMember>> python_members(std::string_view json, std::string_view what) {
  TRY_TAKE(const std::string restyled, restyle_json(json, kPythonDefault));
  auto members = json_members(restyled);
  if (!members) return fail(ErrorKind::bad_input, std::string(what) + " is no JSON object");
  return std::move(*members);
}

bool says_string(const nlohmann::json& schema) {
  const auto type = schema.find("type");
  if (type == schema.end()) return false;
  if (type->is_array())
    return !type->empty() && std::ranges::all_of(*type, [](const auto& one) { return one == "string"; });
  return *type == "string";
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
    const nlohmann::json parsed = nlohmann::json::parse(tool, nullptr, false);
    if (!parsed.is_object()) continue;
    const auto inner = parsed.find("function");
    const nlohmann::json& function = inner != parsed.end() ? *inner : parsed;
    const nlohmann::json name = function.is_object() ? function.value("name", nlohmann::json()) : nlohmann::json();
    if (!name.is_string()) continue;
    const nlohmann::json parameters = function.value("parameters", nlohmann::json::object());
    if (!parameters.is_object()) continue;
    const nlohmann::json properties = parameters.value("properties", nlohmann::json::object());
    if (!properties.is_object()) continue;
    for (const auto& [key, schema] : properties.items())
      if (schema.is_object() && says_string(schema)) of_tool_[name.get<std::string>()].insert(key);
  }
}

bool StringArguments::has(const std::string& tool, const std::string& argument) const {
  const auto found = of_tool_.find(tool);
  return found != of_tool_.end() && found->second.contains(argument);
}

}  // namespace sluice
