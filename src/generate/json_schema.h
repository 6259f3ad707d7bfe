// JSON Schema as rules of a grammar: every text the grammar allows is valid under the schema.
//
// The other direction is not promised: members come in the order of `properties`, blanks are few, and of what a schema
// leaves open the plain cases are allowed. What cannot be held to is refused with its place, never passed over; only
// annotations (title, description, default, examples, ...) mean nothing.
#pragma once

#include <string_view>

#include "generate/json_rules.h"

namespace sluice {

// bad_input if the text is no JSON or no schema that can be held to; names the place ("#/properties/age/multipleOf").
Result<GrammarBuilder::Symbol> json_schema(std::string_view schema, JsonRules& json);

// The members of an object schema, for formats that write arguments one by one.
struct SchemaMember {
  std::string name;
  bool required = false;
  bool is_string = false;          // and nothing else: formats write it without quotes
  bool is_free_string = false;     // without any rule about its text
  GrammarBuilder::Symbol value{};  // as JSON
};
// bad_input as above, or if the schema is not one of an object.
Result<std::vector<SchemaMember>> json_schema_members(std::string_view schema, JsonRules& json);

// A whole grammar.
Result<Grammar> json_schema_grammar(std::string_view schema);
Result<Grammar> json_object_grammar();

}  // namespace sluice
