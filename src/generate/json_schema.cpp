// See json_schema.h.
#include "generate/json_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "generate/schema_rules.h"
#include "text/schema_strings.h"

namespace sluice {

using Json = SchemaRules::Json;
using Symbol = SchemaRules::Symbol;
using Sequence = SchemaRules::Sequence;

namespace {

const std::set<std::string, std::less<>> kAnnotations = {
    "title",      "description", "default",   "examples", "example",     "$schema",       "$id",    "$comment",
    "deprecated", "readOnly",    "writeOnly", "$defs",    "definitions", "discriminator", "strict", "x-order"};

std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

const char* type_of(const Json& value) {
  if (value.is_number_integer()) return "integer";
  return value.is_number() ? "number" : value.type_name();
}

Result<Json> parsed(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return fail(ErrorKind::bad_input, "the JSON schema is not valid JSON");
  return json;
}

}  // namespace

tl::unexpected<Error> SchemaRules::refuse(const std::string& path, std::string_view problem) const {
  return fail(ErrorKind::bad_input, fmt::format("the JSON schema at {}: {}", path, problem));
}

Result<> SchemaRules::only_known(const Json& schema, const std::string& path,
                                 std::initializer_list<std::string_view> known) const {
  for (const auto& [key, value] : schema.items())
    if (!kAnnotations.contains(key) && std::ranges::find(known, key) == known.end())
      return refuse(path + "/" + key, "this keyword is not supported here");
  return {};
}

// Follows references to the schema that they name.
Result<const Json*> SchemaRules::resolved(const Json& schema, const std::string& path) const {
  const Json* at = &schema;
  for (int steps = 0; at->is_object() && at->contains("$ref"); ++steps) {
    if (steps > kDeepest) return refuse(path + "/$ref", "is no reference to a schema");
    TRY_TAKE(at, target(*at, path));
  }
  return at;
}

// The forms in which a schema is put together from constants or other schemas, whatever is made of those.
auto SchemaRules::combined(const Json& schema, const std::string& path,
                           FunctionRef<std::string(const Json& constant)> written,
                           FunctionRef<Result<Symbol>(const Json& part, const std::string& path)> made)
    -> Result<std::optional<Symbol>> {
  if (schema.contains("enum") || schema.contains("const")) {
    TRY_TAKE(const std::vector<Json> values, constants(schema, path));
    std::vector<std::string> texts;
    for (const Json& one : values) texts.push_back(written(one));
    return grammar_.one_of(std::move(texts));
  }
  if (schema.contains("anyOf") || schema.contains("oneOf")) {
    TRY_TAKE(const std::vector<Part> parts, alternatives(schema, path));
    std::vector<Sequence> ways;
    for (const Part& part : parts) {
      TRY_TAKE(const Symbol one, made(*part.schema, part.path));
      ways.push_back({one});
    }
    return grammar_.choice(std::move(ways));
  }
  if (schema.contains("allOf")) {
    TRY_TAKE(const Json whole, merged(schema, path));
    return made(whole, path + "/allOf");
  }
  return std::optional<Symbol>();
}

Result<Symbol> SchemaRules::value(const Json& schema, const std::string& path, int depth) {
  if (depth > kDeepest) return refuse(path, "is too deep");
  if (schema.is_boolean() && schema.get<bool>()) return json_.value();
  if (!schema.is_object()) return refuse(path, schema.is_boolean() ? "allows nothing" : "is no schema");
  if (schema.contains("$ref")) return reference(schema, path, depth);
  const auto part = [&](const Json& one, const std::string& where) { return value(one, where, depth + 1); };
  const auto written = [](const Json& one) { return dumped(one); };
  TRY_TAKE(const std::optional<Symbol> made, combined(schema, path, written, part));
  if (made) return *made;
  return of_types(schema, path, depth);
}

Result<Symbol> SchemaRules::of_types(const Json& schema, const std::string& path, int depth) {
  const auto type = schema.find("type");
  if (type != schema.end() && type->is_string()) {
    if (schema.value("nullable", Json(false)) == Json(true)) {
      TRY_TAKE(const Symbol set, of_type(type->get<std::string>(), schema, path, depth));
      return grammar_.choice({{set}, grammar_.literal("null")});
    }
    return of_type(type->get<std::string>(), schema, path, depth);
  }
  if (type != schema.end()) {
    if (!type->is_array() || type->empty()) return refuse(path + "/type", "must be a type or a list of types");
    std::vector<Sequence> alternatives;
    for (const Json& one : *type) {
      if (!one.is_string()) return refuse(path + "/type", "must be a type or a list of types");
      Json narrowed = Json::object();  // what is said about other types does not concern this one
      const std::string name = one.get<std::string>();
      for (const auto& [key, content] : schema.items()) {
        const bool of_strings = key == "minLength" || key == "maxLength" || key == "pattern" || key == "format";
        const bool of_lists = key == "items" || key == "prefixItems" || key == "minItems" || key == "maxItems";
        const bool of_objects = key == "properties" || key == "required" || key == "additionalProperties";
        const bool of_numbers = key.ends_with("inimum") || key.ends_with("aximum") || key == "multipleOf";
        if ((of_strings && name != "string") || (of_lists && name != "array") || (of_objects && name != "object") ||
            (of_numbers && name != "number" && name != "integer"))
          continue;
        narrowed[key] = content;
      }
      TRY_TAKE(const Symbol set, of_type(name, narrowed, path, depth));
      alternatives.push_back({set});
    }
    return grammar_.choice(std::move(alternatives));
  }
  // Without a type the plainest that the keywords speak of.
  for (const auto& [key, implied] :
       {std::pair("properties", "object"), std::pair("required", "object"), std::pair("additionalProperties", "object"),
        std::pair("items", "array"), std::pair("prefixItems", "array"), std::pair("minItems", "array"),
        std::pair("maxItems", "array"), std::pair("pattern", "string"), std::pair("format", "string"),
        std::pair("minLength", "string"), std::pair("maxLength", "string"), std::pair("minimum", "number"),
        std::pair("maximum", "number"), std::pair("exclusiveMinimum", "number"),
        std::pair("exclusiveMaximum", "number")})
    if (schema.contains(key)) return of_type(implied, schema, path, depth);
  TRY(only_known(schema, path, {}));
  return json_.value();
}

// References are followed each time: nothing that is a string alone can hold itself.
Result<Symbol> SchemaRules::text(const Json& schema, const std::string& path, int depth) {
  if (depth > kDeepest) return refuse(path, "is too deep");
  if (schema.contains("$ref")) {
    TRY_TAKE(const Json* const found, target(schema, path));
    return text(*found, path, depth + 1);
  }
  const auto written = [](const Json& one) { return one.get<std::string>(); };
  const auto part = [&](const Json& one, const std::string& where) { return text(one, where, depth + 1); };
  TRY_TAKE(const std::optional<Symbol> made, combined(schema, path, written, part));
  if (made) return *made;
  TRY_TAKE(const Sequence inner, inside(schema, path, bare_));
  return grammar_.choice({inner});
}

// The schema that "$ref" names, and nothing else is said.
Result<const Json*> SchemaRules::target(const Json& schema, const std::string& path) const {
  TRY(only_known(schema, path, {"$ref"}));
  if (!schema["$ref"].is_string()) return refuse(path + "/$ref", "must be a string");
  const std::string name = schema["$ref"].get<std::string>();
  const Json* const found = referred(root_, name);
  if (found == nullptr) return refuse(path + "/$ref", fmt::format("'{}' leads nowhere in this schema", name));
  return found;
}

Result<Symbol> SchemaRules::reference(const Json& schema, const std::string& path, int depth) {
  TRY_TAKE(const Json* const found, target(schema, path));
  const std::string name = schema["$ref"].get<std::string>();
  if (const auto known = references_.find(name); known != references_.end()) return known->second;
  const Symbol made = grammar_.rule();
  references_.emplace(name, made);
  TRY_TAKE(const Symbol set, value(*found, name, depth + 1));
  grammar_.add_alternative(made, {set});
  return made;
}

Result<std::vector<Json>> SchemaRules::constants(const Json& schema, const std::string& path) const {
  TRY(only_known(schema, path, {"enum", "const", "type", "nullable"}));
  std::vector<Json> values;
  if (const auto list = schema.find("enum"); list != schema.end()) {
    if (!list->is_array() || list->empty()) return refuse(path + "/enum", "must be a list that is not empty");
    values.assign(list->begin(), list->end());
  }
  if (const auto one = schema.find("const"); one != schema.end()) {
    if (!values.empty() && std::ranges::find(values, *one) == values.end())
      return refuse(path + "/const", "is not among the values of enum");
    values = {*one};
  }
  const auto type = schema.find("type");
  std::erase_if(values, [&](const Json& one) {
    const auto is = [&](const Json& name) {
      return name == type_of(one) || (name == "number" && one.is_number_integer());
    };
    return type != schema.end() && !(type->is_array() ? std::ranges::any_of(*type, is) : is(*type));
  });
  if (values.empty()) return refuse(path, "no value of enum is of the type");
  return values;
}

// Those of anyOf, or of oneOf where no value fits two of them.
Result<std::vector<SchemaRules::Part>> SchemaRules::alternatives(const Json& schema, const std::string& path) const {
  const char* const name = schema.contains("anyOf") ? "anyOf" : "oneOf";
  const std::string place = path + "/" + name;
  TRY(only_known(schema, path, {name}));
  const Json& list = schema[name];
  if (!list.is_array() || list.empty()) return refuse(place, "must be a list that is not empty");
  if (schema.contains("oneOf")) TRY(tell_apart(list, place));
  std::vector<Part> parts;
  for (std::size_t index = 0; index < list.size(); ++index)
    parts.push_back({&list[index], fmt::format("{}/{}", place, index)});
  return parts;
}

// What a value of the schema shows for certain: its "type", itself if it is a "const", and "/" and the names of
// required members that are constants. Two schemas whose signs contradict one another share no value.
SchemaRules::Signs SchemaRules::tells(const Json& schema) const {
  const Result<const Json*> found = resolved(schema, "");
  Signs signs;
  if (!found || !(*found)->is_object()) return signs;
  const Json& one = **found;
  if (const auto type = one.find("type"); type != one.end() && type->is_string())
    signs["type"] = *type == "integer" ? "number" : type->get<std::string>();
  if (const auto constant = one.find("const"); constant != one.end()) signs["const"] = dumped(*constant);
  const auto properties = one.find("properties"), required = one.find("required");
  if (properties == one.end() || !properties->is_object() || required == one.end()) return signs;
  for (const auto& [name, member] : properties->items())
    if (member.is_object() && member.contains("const") && std::ranges::find(*required, Json(name)) != required->end())
      signs["/" + name] = dumped(member["const"]);
  return signs;
}

Result<> SchemaRules::tell_apart(const Json& list, const std::string& path) const {
  for (std::size_t one = 0; one < list.size(); ++one)
    for (std::size_t other = 0; other < one; ++other) {
      const Signs left = tells(list[one]), right = tells(list[other]);
      const bool contradict = std::ranges::any_of(left, [&](const auto& sign) {
        const auto against = right.find(sign.first);
        return against != right.end() && against->second != sign.second;
      });
      if (!contradict)
        return refuse(
            path, "is supported where every two alternatives differ in `type` or in the `const` of a required member");
    }
  return {};
}

// allOf: object schemas put together; a single one is itself.
Result<Json> SchemaRules::merged(const Json& schema, const std::string& path) const {
  const Json& list = schema["allOf"];
  if (!list.is_array() || list.empty()) return refuse(path + "/allOf", "must be a list that is not empty");
  Json rest = schema;
  rest.erase("allOf");
  if (list.size() == 1 && only_known(rest, path, {})) return list[0];
  std::vector<const Json*> parts = {&rest};
  for (std::size_t index = 0; index < list.size(); ++index) {
    TRY_TAKE(const Json* const part, resolved(list[index], fmt::format("{}/allOf/{}", path, index)));
    parts.push_back(part);
  }
  Json whole = {{"type", "object"}, {"properties", Json::object()}, {"required", Json::array()}};
  for (const Json* const part : parts) {
    if (!part->is_object()) return refuse(path + "/allOf", "must hold schemas of objects");
    TRY(only_known(*part, path + "/allOf", {"type", "properties", "required"}));
    if (part->value("type", Json("object")) != Json("object"))
      return refuse(path + "/allOf", "is supported for one schema, or for schemas of objects");
    const Json properties = part->value("properties", Json::object());
    const Json required = part->value("required", Json::array());
    if (!properties.is_object() || !required.is_array()) return refuse(path + "/allOf", "holds wrong properties");
    for (const auto& [name, member] : properties.items()) {
      if (whole["properties"].contains(name) && whole["properties"][name] != member)
        return refuse(path + "/allOf", fmt::format("says two things of the member '{}'", name));
      whole["properties"][name] = member;
    }
    for (const Json& name : required) whole["required"].push_back(name);
  }
  return whole;
}

Result<GrammarBuilder::Symbol> json_schema(std::string_view schema, JsonRules& json) {
  TRY_TAKE(const Json root, parsed(schema));
  return SchemaRules(root, json).value(root, "#");
}

Result<std::vector<SchemaMembers>> json_schema_shapes(std::string_view schema, JsonRules& json) {
  TRY_TAKE(const Json root, parsed(schema));
  return SchemaRules(root, json).shapes(root, "#", string_members(root));
}

Result<Grammar> json_schema_grammar(std::string_view schema) {
  GrammarBuilder builder;
  JsonRules json(builder);
  TRY_TAKE(const GrammarBuilder::Symbol root, json_schema(schema, json));
  return builder.finish(root);
}

Result<Grammar> json_object_grammar() {
  GrammarBuilder builder;
  JsonRules json(builder);
  return builder.finish(json.object());
}

}  // namespace sluice
