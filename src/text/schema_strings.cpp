// See schema_strings.h.
#include "text/schema_strings.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace sluice {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kDeepestSchema = 64;  // references and schemas within schemas

// Every value that the schema, a part of `root`, allows is a string.
bool only_strings(const Json& schema, const Json& root, int depth) {
  if (!schema.is_object() || depth > kDeepestSchema || schema.value("nullable", Json()) == Json(true)) return false;
  if (const auto reference = schema.find("$ref"); reference != schema.end()) {
    const Json* const found = reference->is_string() ? referred(root, reference->get<std::string>()) : nullptr;
    return found != nullptr && only_strings(*found, root, depth + 1);
  }
  const auto is_string = [](const Json& value) { return value.is_string(); };
  const auto says_string = [](const Json& type) { return type == "string"; };
  const auto speaks_of_strings = [&](const Json& part) { return only_strings(part, root, depth + 1); };
  const auto each = [](const Json& list, const auto& holds) {
    return list.is_array() && !list.empty() && std::ranges::all_of(list, holds);
  };
  if (const auto type = schema.find("type"); type != schema.end())
    return says_string(*type) || each(*type, says_string);
  if (const auto value = schema.find("const"); value != schema.end()) return value->is_string();
  if (const auto values = schema.find("enum"); values != schema.end()) return each(*values, is_string);
  for (const char* name : {"anyOf", "oneOf"})
    if (const auto parts = schema.find(name); parts != schema.end()) return each(*parts, speaks_of_strings);
  const auto parts = schema.find("allOf");
  return parts != schema.end() && parts->is_array() && std::ranges::any_of(*parts, speaks_of_strings);
}

void note_members(const Json& schema, const Json& root, int depth, std::map<std::string, bool>& members) {
  if (!schema.is_object() || depth > kDeepestSchema) return;
  if (const auto reference = schema.find("$ref"); reference != schema.end() && reference->is_string())
    if (const Json* const found = referred(root, reference->get<std::string>()))
      note_members(*found, root, depth + 1, members);
  for (const char* name : {"anyOf", "oneOf", "allOf"})
    if (const auto parts = schema.find(name); parts != schema.end() && parts->is_array())
      for (const Json& part : *parts) note_members(part, root, depth + 1, members);
  const auto properties = schema.find("properties");
  if (properties == schema.end() || !properties->is_object()) return;
  for (const auto& [name, member] : properties->items()) {
    const bool is_string = only_strings(member, root, 0);
    const auto [known, is_new] = members.emplace(name, is_string);
    if (!is_new) known->second = known->second && is_string;
  }
}

}  // namespace

const Json* referred(const Json& root, std::string_view reference) {
  if (!reference.starts_with('#')) return nullptr;
  const Json* at = &root;
  for (std::size_t begin = 1; begin < reference.size();) {
    if (reference[begin] != '/') return nullptr;
    const std::size_t end = std::min(reference.find('/', begin + 1), reference.size());
    std::string key(reference.substr(begin + 1, end - begin - 1));
    for (const auto& [escape, letter] : {std::pair("~1", "/"), std::pair("~0", "~")})
      for (std::size_t place = 0; (place = key.find(escape, place)) != std::string::npos; ++place)
        key.replace(place, 2, letter);
    if (!at->is_object() || !at->contains(key)) return nullptr;
    at = &(*at)[key];
    begin = end;
  }
  return at;
}

std::set<std::string> string_members(const Json& schema) {
  std::map<std::string, bool> members;
  note_members(schema, schema, 0, members);
  std::set<std::string> strings;
  for (const auto& [name, is_string] : members)
    if (is_string) strings.insert(name);
  return strings;
}

}  // namespace sluice
