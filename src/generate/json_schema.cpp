// See json_schema.h.
#include "generate/json_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "generate/string_pattern.h"

namespace sluice {

namespace {

using Json = nlohmann::ordered_json;
using Symbol = GrammarBuilder::Symbol;
using Sequence = GrammarBuilder::Sequence;

constexpr int kDeepest = 64;      // schemas within schemas, references not counted
constexpr int kLongest = 50'000;  // counts of characters and elements

const std::set<std::string, std::less<>> kAnnotations = {
    "title",      "description", "default",   "examples", "example",     "$schema",       "$id",    "$comment",
    "deprecated", "readOnly",    "writeOnly", "$defs",    "definitions", "discriminator", "strict", "x-order"};

std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

const char* type_of(const Json& value) {
  if (value.is_number_integer()) return "integer";
  return value.is_number() ? "number" : value.type_name();
}

// The keywords of `schema` that mean something, `but` these.
std::vector<std::string> other_keywords(const Json& schema, std::initializer_list<std::string_view> but) {
  std::vector<std::string> others;
  for (const auto& [key, value] : schema.items())
    if (!kAnnotations.contains(key) && std::ranges::find(but, key) == but.end()) others.push_back(key);
  return others;
}

// Formats as patterns: a part of each that nobody disputes.
const std::map<std::string, const char*, std::less<>> kFormats = {
    {"date",
     "^[1-9][0-9]{3}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2["
     "0-8]))$"},
    {"time", "^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"},
    {"date-time",
     "^[1-9][0-9]{3}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2["
     "0-8]))T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"},
    {"uuid", "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"},
    {"ipv4", "^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])\\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])$"},
    {"email",
     "^[A-Za-z0-9_-]{1,32}(\\.[A-Za-z0-9_-]{1,16}){0,3}@([a-z0-9]{1,24}(-[a-z0-9]{1,16}){0,2}\\.){1,3}[a-z]{2,12}$"},
    {"hostname", "^([a-z0-9]{1,24}(-[a-z0-9]{1,16}){0,2}\\.){0,4}[a-z]{2,12}$"},
};

class SchemaRules {
 public:
  SchemaRules(const Json& root, JsonRules& json) : root_(root), json_(json), grammar_(json.grammar()) {}

  Result<Symbol> value(const Json& schema, const std::string& path, int depth = 0);
  Result<std::vector<SchemaMember>> members(const Json& schema, const std::string& path, int depth);
  Result<const Json*> resolved(const Json& schema, const std::string& path);

 private:
  tl::unexpected<Error> refuse(const std::string& path, std::string_view problem) const {
    return fail(ErrorKind::bad_input, fmt::format("the JSON schema at {}: {}", path, problem));
  }
  Result<> only_known(const Json& schema, const std::string& path,
                      std::initializer_list<std::string_view> known) const {
    const std::vector<std::string> others = other_keywords(schema, known);
    if (others.empty()) return {};
    return refuse(path + "/" + others.front(), "this keyword is not supported here");
  }
  Result<int> count(const Json& schema, const char* name, int otherwise, const std::string& path) const;
  Result<const Json*> target(const std::string& reference, const std::string& path) const;

  Result<Symbol> reference(const Json& schema, const std::string& path, int depth);
  Result<Symbol> constants(const Json& schema, const std::string& path);
  Result<Symbol> any_of(const Json& schema, const std::string& path, int depth);
  Result<Symbol> one_of(const Json& schema, const std::string& path, int depth);
  Result<Symbol> all_of(const Json& schema, const std::string& path, int depth);
  Result<Symbol> of_type(const std::string& type, const Json& schema, const std::string& path, int depth);
  Result<Symbol> string(const Json& schema, const std::string& path);
  Result<Symbol> number(const Json& schema, const std::string& path, bool integers_only);
  Result<Symbol> array(const Json& schema, const std::string& path, int depth);
  Result<Symbol> object(const Json& schema, const std::string& path, int depth);
  Result<std::optional<Symbol>> extra_member(const Json& schema, std::span<const SchemaMember> members,
                                             const std::string& path, int depth);
  Sequence pair(const std::string& name, Symbol value);
  using Signs = std::map<std::string, std::string>;
  Signs tells(const Json& schema);

  const Json& root_;
  JsonRules& json_;
  GrammarBuilder& grammar_;
  std::map<std::string, Symbol> references_;
};

Result<int> SchemaRules::count(const Json& schema, const char* name, int otherwise, const std::string& path) const {
  const auto found = schema.find(name);
  if (found == schema.end()) return otherwise;
  if (found->is_number() && found->get<double>() >= 0 && found->get<double>() <= kLongest &&
      found->get<double>() == static_cast<double>(static_cast<int>(found->get<double>())))
    return static_cast<int>(found->get<double>());
  return refuse(path + "/" + name, fmt::format("must be a whole number from 0 to {}", kLongest));
}

Result<const Json*> SchemaRules::target(const std::string& reference, const std::string& path) const {
  const auto wrong = [&] {
    return refuse(path + "/$ref", fmt::format("'{}' leads nowhere in this schema", reference));
  };
  if (!reference.starts_with('#')) return wrong();
  const Json* at = &root_;
  for (std::size_t begin = 1; begin < reference.size();) {
    if (reference[begin] != '/') return wrong();
    const std::size_t end = std::min(reference.find('/', begin + 1), reference.size());
    std::string key = reference.substr(begin + 1, end - begin - 1);
    for (const auto& [escape, letter] : {std::pair("~1", "/"), std::pair("~0", "~")})
      for (std::size_t place = 0; (place = key.find(escape, place)) != std::string::npos; ++place)
        key.replace(place, 2, letter);
    if (!at->is_object() || !at->contains(key)) return wrong();
    at = &(*at)[key];
    begin = end;
  }
  return at;
}

// Follows references to the schema that they name.
Result<const Json*> SchemaRules::resolved(const Json& schema, const std::string& path) {
  const Json* at = &schema;
  for (int steps = 0; at->is_object() && at->contains("$ref"); ++steps) {
    if (steps > kDeepest || !(*at)["$ref"].is_string()) return refuse(path + "/$ref", "is no reference to a schema");
    TRY_TAKE(at, target((*at)["$ref"].get<std::string>(), path));
  }
  return at;
}

Result<Symbol> SchemaRules::value(const Json& schema, const std::string& path, int depth) {
  if (depth > kDeepest) return refuse(path, "is too deep");
  if (schema.is_boolean() && schema.get<bool>()) return json_.value();
  if (!schema.is_object()) return refuse(path, schema.is_boolean() ? "allows nothing" : "is no schema");
  if (schema.contains("$ref")) return reference(schema, path, depth);
  if (schema.contains("enum") || schema.contains("const")) return constants(schema, path);
  if (schema.contains("anyOf")) return any_of(schema, path, depth);
  if (schema.contains("oneOf")) return one_of(schema, path, depth);
  if (schema.contains("allOf")) return all_of(schema, path, depth);
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

Result<Symbol> SchemaRules::reference(const Json& schema, const std::string& path, int depth) {
  TRY(only_known(schema, path, {"$ref"}));
  if (!schema["$ref"].is_string()) return refuse(path + "/$ref", "must be a string");
  const std::string name = schema["$ref"].get<std::string>();
  if (const auto known = references_.find(name); known != references_.end()) return known->second;
  TRY_TAKE(const Json* const found, target(name, path));
  const Symbol made = grammar_.rule();
  references_.emplace(name, made);
  TRY_TAKE(const Symbol set, value(*found, name, depth + 1));
  grammar_.add_alternative(made, {set});
  return made;
}

Result<Symbol> SchemaRules::constants(const Json& schema, const std::string& path) {
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
  std::vector<std::string> texts;
  const auto type = schema.find("type");
  for (const Json& one : values) {
    const auto is = [&](const Json& name) {
      return name == type_of(one) || (name == "number" && one.is_number_integer());
    };
    const bool fits = type == schema.end() || (type->is_array() ? std::ranges::any_of(*type, is) : is(*type));
    if (fits) texts.push_back(dumped(one));
  }
  if (texts.empty()) return refuse(path, "no value of enum is of the type");
  return grammar_.one_of(std::move(texts));
}

Result<Symbol> SchemaRules::any_of(const Json& schema, const std::string& path, int depth) {
  TRY(only_known(schema, path, {"anyOf"}));
  const Json& list = schema["anyOf"];
  if (!list.is_array() || list.empty()) return refuse(path + "/anyOf", "must be a list that is not empty");
  std::vector<Sequence> alternatives;
  for (std::size_t index = 0; index < list.size(); ++index) {
    TRY_TAKE(const Symbol one, value(list[index], fmt::format("{}/anyOf/{}", path, index), depth + 1));
    alternatives.push_back({one});
  }
  return grammar_.choice(std::move(alternatives));
}

// What a value of the schema shows for certain: its "type", itself if it is a "const", and "/" and the names of
// required members that are constants. Two schemas whose signs contradict one another share no value.
SchemaRules::Signs SchemaRules::tells(const Json& schema) {
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

Result<Symbol> SchemaRules::one_of(const Json& schema, const std::string& path, int depth) {
  const Json& list = schema["oneOf"];
  if (!list.is_array() || list.empty()) return refuse(path + "/oneOf", "must be a list that is not empty");
  for (std::size_t one = 0; one < list.size(); ++one)
    for (std::size_t other = 0; other < one; ++other) {
      const Signs left = tells(list[one]), right = tells(list[other]);
      const bool contradict = std::ranges::any_of(left, [&](const auto& sign) {
        const auto against = right.find(sign.first);
        return against != right.end() && against->second != sign.second;
      });
      if (!contradict)
        return refuse(
            path + "/oneOf",
            "is supported where every two alternatives differ in `type` or in the `const` of a required member");
    }
  Json any = schema;
  any.erase("oneOf");
  any["anyOf"] = list;
  return any_of(any, path, depth);
}

// Object schemas put together; a single one is itself.
Result<Symbol> SchemaRules::all_of(const Json& schema, const std::string& path, int depth) {
  const Json& list = schema["allOf"];
  if (!list.is_array() || list.empty()) return refuse(path + "/allOf", "must be a list that is not empty");
  Json rest = schema;
  rest.erase("allOf");
  if (list.size() == 1 && other_keywords(rest, {}).empty()) return value(list[0], path + "/allOf/0", depth + 1);
  std::vector<const Json*> parts = {&rest};
  for (std::size_t index = 0; index < list.size(); ++index) {
    TRY_TAKE(const Json* const part, resolved(list[index], fmt::format("{}/allOf/{}", path, index)));
    parts.push_back(part);
  }
  Json merged = {{"type", "object"}, {"properties", Json::object()}, {"required", Json::array()}};
  for (const Json* const part : parts) {
    if (!part->is_object()) return refuse(path + "/allOf", "must hold schemas of objects");
    TRY(only_known(*part, path + "/allOf", {"type", "properties", "required"}));
    if (part->value("type", Json("object")) != Json("object"))
      return refuse(path + "/allOf", "is supported for one schema, or for schemas of objects");
    const Json properties = part->value("properties", Json::object());
    const Json required = part->value("required", Json::array());
    if (!properties.is_object() || !required.is_array()) return refuse(path + "/allOf", "holds wrong properties");
    for (const auto& [name, member] : properties.items()) {
      if (merged["properties"].contains(name) && merged["properties"][name] != member)
        return refuse(path + "/allOf", fmt::format("says two things of the member '{}'", name));
      merged["properties"][name] = member;
    }
    for (const Json& name : required) merged["required"].push_back(name);
  }
  return object(merged, path, depth);
}

Result<Symbol> SchemaRules::of_type(const std::string& type, const Json& schema, const std::string& path, int depth) {
  if (type == "object") return object(schema, path, depth);
  if (type == "array") return array(schema, path, depth);
  if (type == "string") return string(schema, path);
  if (type == "number" || type == "integer") return number(schema, path, type == "integer");
  TRY(only_known(schema, path, {"type", "nullable"}));
  if (type == "boolean") return grammar_.choice({grammar_.literal("true"), grammar_.literal("false")});
  if (type == "null") return grammar_.choice({grammar_.literal("null")});
  return refuse(path + "/type", fmt::format("'{}' is no type of JSON", type));
}

Result<Symbol> SchemaRules::string(const Json& schema, const std::string& path) {
  TRY(only_known(schema, path, {"type", "nullable", "minLength", "maxLength", "pattern", "format"}));
  const Sequence quote = grammar_.literal("\"");
  const bool has_length = schema.contains("minLength") || schema.contains("maxLength");
  for (const char* name : {"pattern", "format"}) {
    const auto found = schema.find(name);
    if (found == schema.end()) continue;
    if (!found->is_string()) return refuse(path + "/" + name, "must be a string");
    if (has_length || (schema.contains("pattern") && schema.contains("format")))
      return refuse(path + "/" + name, "is supported without minLength, maxLength and other rules about the text");
    std::string pattern = found->get<std::string>();
    if (name == std::string_view("format")) {
      const auto known = kFormats.find(pattern);
      if (known == kFormats.end()) return refuse(path + "/format", fmt::format("'{}' is not supported", pattern));
      pattern = known->second;
    }
    auto inside = string_pattern(pattern, json_);
    if (!inside) return tl::unexpected<Error>(std::move(inside.error()).within("the JSON schema at " + path));
    return grammar_.choice({quote + Sequence{*inside} + quote});
  }
  if (!has_length) return json_.string();
  TRY_TAKE(const int least, count(schema, "minLength", 0, path));
  TRY_TAKE(const int most, count(schema, "maxLength", -1, path));
  if (most >= 0 && most < least) return refuse(path + "/maxLength", "is below minLength");
  return grammar_.choice({quote + grammar_.repeat({json_.any_character()}, least, most) + quote});
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
  return grammar_.literal(dumped(Json(name)) + ":") + Sequence{json_.after_colon(), one};
}

Result<std::vector<SchemaMember>> SchemaRules::members(const Json& schema, const std::string& path, int depth) {
  const Json properties = schema.value("properties", Json::object());
  const Json required = schema.value("required", Json::array());
  if (!properties.is_object()) return refuse(path + "/properties", "must be an object");
  if (!required.is_array()) return refuse(path + "/required", "must be a list");
  std::vector<SchemaMember> all;
  for (const auto& [name, member] : properties.items()) {
    TRY_TAKE(const Symbol one, value(member, path + "/properties/" + name, depth + 1));
    TRY_TAKE(const Json* const meant, resolved(member, path));
    const bool is_string = meant->is_object() && meant->value("type", Json()) == Json("string");
    all.push_back({.name = name,
                   .required = std::ranges::find(required, Json(name)) != required.end(),
                   .is_string = is_string,
                   .is_free_string = is_string && other_keywords(*meant, {"type"}).empty(),
                   .value = one});
  }
  for (const Json& name : required) {
    if (!name.is_string()) return refuse(path + "/required", "must be a list of names");
    if (properties.contains(name.get<std::string>())) continue;
    const Json extra = schema.value("additionalProperties", Json(true));
    TRY_TAKE(const Symbol one, value(extra, path + "/additionalProperties", depth + 1));
    all.push_back({.name = name.get<std::string>(), .required = true, .value = one});
  }
  return all;
}

// A member that `properties` does not name, if the schema asks for such.
Result<std::optional<Symbol>> SchemaRules::extra_member(const Json& schema, std::span<const SchemaMember> members,
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
  TRY_TAKE(const std::vector<SchemaMember> all, members(schema, path, depth));
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

Result<Json> parsed(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return fail(ErrorKind::bad_input, "the JSON schema is not valid JSON");
  return json;
}

}  // namespace

Result<GrammarBuilder::Symbol> json_schema(std::string_view schema, JsonRules& json) {
  TRY_TAKE(const Json root, parsed(schema));
  return SchemaRules(root, json).value(root, "#");
}

Result<std::vector<SchemaMember>> json_schema_members(std::string_view schema, JsonRules& json) {
  TRY_TAKE(const Json root, parsed(schema));
  SchemaRules rules(root, json);
  TRY_TAKE(const Json* const meant, rules.resolved(root, "#"));
  if (!meant->is_object()) return fail(ErrorKind::bad_input, "the JSON schema is not one of an object");
  return rules.members(*meant, "#", 0);
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
