// What each type of JSON Schema means as rules. See schema_rules.h.
#include <fmt/format.h>

#include <algorithm>

#include "generate/schema_rules.h"
#include "generate/string_pattern.h"
#include "text/json_text.h"

namespace sluice {

using Json = SchemaRules::Json;
using Symbol = SchemaRules::Symbol;
using Sequence = SchemaRules::Sequence;

namespace {

// The word that chat formats write for a type; for several types any but "string" will do.
const char* written_type(const Json& schema) {
  const Json type = schema.is_object() ? schema.value("type", Json()) : Json();
  if (type == "integer") return "number";
  for (const char* name : {"number", "boolean", "array", "null"})
    if (type == name) return name;
  return "object";
}

}  // namespace

Result<int> SchemaRules::count(const Json& schema, const char* name, int otherwise, const std::string& path) const {
  const auto found = schema.find(name);
  if (found == schema.end()) return otherwise;
  if (found->is_number() && found->get<double>() >= 0 && found->get<double>() <= kLongest &&
      found->get<double>() == static_cast<double>(static_cast<int>(found->get<double>())))
    return static_cast<int>(found->get<double>());
  return refuse(path + "/" + name, fmt::format("must be a whole number from 0 to {}", kLongest));
}

Result<Symbol> SchemaRules::of_type(const std::string& type, const Json& schema, const std::string& path, int depth) {
  if (type == "object") return object(schema, path, depth);
  if (type == "array") return array(schema, path, depth);
  if (type == "string") {
    TRY_TAKE(const Sequence text, inside(schema, path, json_.characters()));
    const Sequence quote = grammar_.literal("\"");
    return grammar_.choice({quote + text + quote});
  }
  if (type == "number" || type == "integer") return number(schema, path, type == "integer");
  TRY(only_known(schema, path, {"type", "nullable"}));
  if (type == "boolean") return grammar_.choice({grammar_.literal("true"), grammar_.literal("false")});
  if (type == "null") return grammar_.choice({grammar_.literal("null")});
  return refuse(path + "/type", fmt::format("'{}' is no type of JSON", type));
}

// The text of a string, in the spelling of `characters`.
Result<Sequence> SchemaRules::inside(const Json& schema, const std::string& path, StringCharacters& characters) const {
  TRY(only_known(schema, path, {"type", "nullable", "minLength", "maxLength", "pattern", "format"}));
  const bool has_length = schema.contains("minLength") || schema.contains("maxLength");
  for (const char* name : {"pattern", "format"}) {
    const auto found = schema.find(name);
    if (found == schema.end()) continue;
    if (!found->is_string()) return refuse(path + "/" + name, "must be a string");
    if (has_length || (schema.contains("pattern") && schema.contains("format")))
      return refuse(path + "/" + name, "is supported without minLength, maxLength and other rules about the text");
    std::string pattern = found->get<std::string>();
    if (name == std::string_view("format")) {
      const auto known = pattern_of_format(pattern);
      if (!known) return refuse(path + "/format", fmt::format("'{}' is not supported", pattern));
      pattern = *known;
    }
    auto text = string_pattern(pattern, characters);
    if (!text) return tl::unexpected<Error>(std::move(text.error()).within("the JSON schema at " + path));
    return Sequence{*text};
  }
  TRY_TAKE(const int least, count(schema, "minLength", 0, path));
  TRY_TAKE(const int most, count(schema, "maxLength", -1, path));
  if (most >= 0 && most < least) return refuse(path + "/maxLength", "is below minLength");
  return grammar_.repeat({characters.any()}, least, most);
}

Result<Symbol> SchemaRules::number(const Json& schema, const std::string& path, bool integers_only) {
  TRY(only_known(schema, path,
                 {"type", "nullable", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}));
  if (const auto of = schema.find("multipleOf"); of != schema.end()) {
    if (*of != Json(1)) return refuse(path + "/multipleOf", "is supported for 1 alone");
    integers_only = true;
  }
  JsonRules::Bounds bounds;
  for (const char* name : {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}) {
    const auto found = schema.find(name);
    if (found == schema.end()) continue;
    if (!found->is_number()) return refuse(path + "/" + name, "must be a number");
    const auto bound = found->get<double>();
    const bool is_least = std::string_view(name).ends_with("inimum"), is_exclusive = name[0] == 'e';
    std::optional<double>& end = is_least ? bounds.least : bounds.most;
    bool& excluded = is_least ? bounds.above_least : bounds.below_most;
    const bool tighter = !end || (is_least ? bound > *end : bound < *end) || (bound == *end && is_exclusive);
    if (!tighter) continue;
    end = bound;
    excluded = is_exclusive;
  }
  const std::optional<Symbol> made = json_.number_within(bounds, integers_only);
  if (!made) return refuse(path, "the range holds no integer, and such ranges are not supported");
  return *made;
}

Result<Symbol> SchemaRules::array(const Json& schema, const std::string& path, int depth) {
  TRY(only_known(schema, path, {"type", "nullable", "items", "prefixItems", "minItems", "maxItems", "uniqueItems"}));
  TRY_TAKE(const int least, count(schema, "minItems", 0, path));
  TRY_TAKE(const int most, count(schema, "maxItems", -1, path));
  if (most >= 0 && most < least) return refuse(path + "/maxItems", "is below minItems");
  if (schema.value("uniqueItems", Json(false)) != Json(false) && (most < 0 || most > 1))
    return refuse(path + "/uniqueItems", "is not supported");
  std::vector<Symbol> first;
  const Json prefix = schema.value("prefixItems", Json::array());
  if (!prefix.is_array()) return refuse(path + "/prefixItems", "must be a list");
  for (std::size_t index = 0; index < prefix.size(); ++index) {
    TRY_TAKE(const Symbol one, value(prefix[index], fmt::format("{}/prefixItems/{}", path, index), depth + 1));
    first.push_back(one);
  }
  std::optional<Symbol> more = json_.value();
  if (const auto items = schema.find("items"); items != schema.end() && *items == Json(false)) {
    more = std::nullopt;
  } else if (items != schema.end()) {
    TRY_TAKE(more, value(*items, path + "/items", depth + 1));
  }
  // From the last element that has a rule of its own to the first: what may follow `done` elements.
  const int own = static_cast<int>(first.size());
  if (!more && least > own) return refuse(path + "/minItems", "asks for more elements than there are schemas");
  const Sequence comma = grammar_.literal(",") + Sequence{json_.blank()};
  const auto separated = [&](int done) { return done == 0 ? Sequence{} : comma; };
  Sequence rest;
  if (more && (most < 0 || most > own)) {
    const int from = std::max(least - own, 0), to = most < 0 ? -1 : most - own;
    if (own > 0) {
      rest = grammar_.repeat(comma + Sequence{*more}, from, to);
    } else {
      rest = Sequence{*more} + grammar_.repeat(comma + Sequence{*more}, std::max(from - 1, 0), to < 0 ? -1 : to - 1);
      if (from == 0) rest = {grammar_.optional(rest)};
    }
  }
  for (int done = own - 1; done >= 0; --done) {
    const Symbol element = first[static_cast<std::size_t>(done)];
    rest = done < most || most < 0 ? separated(done) + Sequence{element} + rest : Sequence{};
    if (done >= least) rest = {grammar_.optional(rest)};
  }
  return grammar_.choice(
      {grammar_.literal("[") + Sequence{json_.blank()} + rest + Sequence{json_.blank()} + grammar_.literal("]")});
}

Sequence SchemaRules::pair(const std::string& name, Symbol one) {
  return grammar_.literal(json_string(name) + ":") + Sequence{json_.after_colon(), one};
}

Result<SchemaMembers> SchemaRules::members(const Json& schema, const std::string& path, int depth, const Names& bare) {
  const Json properties = schema.value("properties", Json::object());
  const Json required = schema.value("required", Json::array());
  if (!properties.is_object()) return refuse(path + "/properties", "must be an object");
  if (!required.is_array()) return refuse(path + "/required", "must be a list");
  SchemaMembers all;
  for (const auto& [name, member] : properties.items()) {
    const std::string place = path + "/properties/" + name;
    const bool is_bare = bare.contains(name);
    TRY_TAKE(const Symbol one, is_bare ? text(member, place, depth + 1) : value(member, place, depth + 1));
    TRY_TAKE(const Json* const meant, resolved(member, place));
    const bool is_required = std::ranges::find(required, Json(name)) != required.end();
    all.push_back({name, is_bare ? "string" : written_type(*meant), is_required, one});
  }
  for (const Json& name : required) {
    if (!name.is_string()) return refuse(path + "/required", "must be a list of names");
    if (properties.contains(name.get<std::string>())) continue;
    const Json extra = schema.value("additionalProperties", Json(true));
    TRY_TAKE(const Symbol one, value(extra, path + "/additionalProperties", depth + 1));
    all.push_back({name.get<std::string>(), "object", true, one});
  }
  return all;
}

// A member that `properties` does not name, if the schema asks for such.
Result<std::optional<Symbol>> SchemaRules::extra_member(const Json& schema, const SchemaMembers& members,
                                                        const std::string& path, int depth) {
  const auto extra = schema.find("additionalProperties");
  const bool unsaid = extra == schema.end();
  if (unsaid ? !members.empty() : *extra == Json(false)) return std::nullopt;
  Symbol one = json_.value();
  if (!unsaid) {
    TRY_TAKE(one, value(*extra, path + "/additionalProperties", depth + 1));
  }
  std::vector<std::string> names;
  for (const SchemaMember& member : members) names.push_back(member.name);
  const Symbol name = names.empty() ? json_.string() : json_.other_name(std::move(names));
  return grammar_.choice({Sequence{name} + grammar_.literal(":") + Sequence{json_.after_colon(), one}});
}

Result<Symbol> SchemaRules::object(const Json& schema, const std::string& path, int depth) {
  TRY(only_known(schema, path, {"type", "nullable", "properties", "required", "additionalProperties"}));
  TRY_TAKE(const SchemaMembers all, members(schema, path, depth, {}));
  TRY_TAKE(const std::optional<Symbol> extra, extra_member(schema, all, path, depth));
  const Sequence comma = grammar_.literal(",") + Sequence{json_.blank()};
  // What may follow when nothing has been written yet, and when something has.
  Sequence first, later;
  if (extra) {
    later = grammar_.repeat(comma + Sequence{*extra}, 0, -1);
    first = {grammar_.optional(Sequence{*extra} + later)};
  }
  for (auto member = all.rbegin(); member != all.rend(); ++member) {
    const Sequence one = pair(member->name, member->value);
    Sequence now = one + later, then = comma + one + later;
    if (!member->required) {
      now = {grammar_.choice({now, first})};
      then = {grammar_.choice({then, later})};
    } else {
      now = {grammar_.choice({now})};
      then = {grammar_.choice({then})};
    }
    first = std::move(now);
    later = std::move(then);
  }
  const Sequence open = grammar_.literal("{") + Sequence{json_.blank()};
  return grammar_.choice({open + first + Sequence{json_.blank()} + grammar_.literal("}")});
}

// One way for each alternative of anyOf and oneOf; what allOf puts together is one.
Result<std::vector<SchemaMembers>> SchemaRules::shapes(const Json& schema, const std::string& path, const Names& bare,
                                                       int depth) {
  if (depth > kDeepest) return refuse(path, "is too deep");
  if (schema == Json(true)) return std::vector<SchemaMembers>{{}};
  if (!schema.is_object()) return refuse(path, "is not a schema of an object");
  if (schema.contains("$ref")) {
    TRY_TAKE(const Json* const found, target(schema, path));
    return shapes(*found, path, bare, depth + 1);
  }
  if (schema.contains("anyOf") || schema.contains("oneOf")) {
    TRY_TAKE(const std::vector<Part> parts, alternatives(schema, path));
    std::vector<SchemaMembers> all;
    for (const Part& part : parts) {
      TRY_TAKE(const std::vector<SchemaMembers> some, shapes(*part.schema, part.path, bare, depth + 1));
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }
  if (schema.contains("allOf")) {
    TRY_TAKE(const Json whole, merged(schema, path));
    return shapes(whole, path + "/allOf", bare, depth + 1);
  }
  if (schema.value("type", Json("object")) != Json("object")) return refuse(path + "/type", "is not that of an object");
  TRY(only_known(schema, path, {"type", "nullable", "properties", "required", "additionalProperties"}));
  TRY_TAKE(SchemaMembers one, members(schema, path, depth, bare));
  return std::vector<SchemaMembers>{std::move(one)};
}

}  // namespace sluice
