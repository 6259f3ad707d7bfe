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

// A member of an object, for formats that write arguments one by one.
struct SchemaMember {
  std::string name;
  std::string type;  // "string": always one, and `value` is its bare text; else "number", "boolean", "array", "object",
                     // ...: `value` is JSON
  bool required = false;
  GrammarBuilder::Symbol value{};
};
using SchemaMembers = std::vector<SchemaMember>;
// The members of an object schema: a list for each way to put one together (anyOf). bad_input as above, or if the
// schema is not one of an object.
Result<std::vector<SchemaMembers>> json_schema_shapes(std::string_view schema, JsonRules& json);

// A whole grammar.
Result<Grammar> json_schema_grammar(std::string_view schema);
Result<Grammar> json_object_grammar();

}  // namespace sluice
