// JSON as it must look in a prompt: rewritten in the spelling of Python's json module, or taken apart without touching
// the spelling of its values.
//
// Models are trained on text that Python wrote, so digits, separators and escapes count. Values keep what a parse into
// numbers would lose: integers of any length stay as they are, floats are spelled as Python's repr does.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice {

struct JsonStyle {
  bool sort_keys;          // recursively, by bytes (which is the order of code points)
  std::string_view comma;  // between members and elements
  std::string_view colon;  // between a key and its value
};
inline constexpr JsonStyle kCompactSorted = {true, ",", ":"};
inline constexpr JsonStyle kPythonDefault = {false, ", ", ": "};

// Rewrites `json`. Non-ASCII characters are written as themselves. Of equal keys the last one counts, in the place of
// the first. bad_input if it is not JSON, too deep, or holds a number beyond double.
Result<std::string> restyle_json(std::string_view json, const JsonStyle& style);

bool is_json(std::string_view text);

// The JSON string literal of a text. Requires: well-formed UTF-8.
std::string json_string(std::string_view text);

struct JsonMember {
  std::string key;
  std::string type;     // "string", "number", "boolean", "null", "object" or "array"
  std::string literal;  // the value, spelled as in the text
  std::string text;     // what a string says; for other types the literal
};

// The members of the object that `text` begins with: in order, equal keys included. What follows the object is
// ignored. Nothing if no object is there.
std::optional<std::vector<JsonMember>> json_members(std::string_view text);

}  // namespace sluice
