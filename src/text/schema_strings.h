// Which JSON schemas speak of strings and of nothing else: chat formats write such arguments of a tool call without
// quotes, so who writes a call and who reads it must agree on it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>

namespace sluice {

// The schema that a reference ("#/$defs/city") names in the schema `root`; null if it leads nowhere.
const nlohmann::ordered_json* referred(const nlohmann::ordered_json& root, std::string_view reference);

// The members of an object schema, through its references, anyOf, oneOf and allOf, whose values are strings and nothing
// else wherever it names them, as far as types, constants and parts say.
std::set<std::string> string_members(const nlohmann::ordered_json& schema);

}  // namespace sluice
