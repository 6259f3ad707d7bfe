// Tests of json_schema.h: what the grammar lets through is parsed and validated by other means.
#include "generate/json_schema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>

#include "generate/grammar_matcher.h"
#include "support/must.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;
using State = GrammarMatcher::State;

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
}

bool is_of(const std::string& type, const Json& value) {
  if (type == "integer") return value.is_number() && std::floor(value.get<double>()) == value.get<double>();
  if (type == "number") return value.is_number();
  return type == value.type_name();
}

// Validation as the specification of JSON Schema says it, keyword by keyword.
bool valid(const Json& value, const Json& schema, const Json& root) {
  if (schema.is_boolean()) return schema.get<bool>();
  const auto each = [&](const char* name, auto counts) {
    if (!schema.contains(name)) return true;
    const auto fitting =
        std::ranges::count_if(schema.at(name), [&](const Json& one) { return valid(value, one, root); });
    return counts(static_cast<std::size_t>(fitting), schema.at(name).size());
  };
  if (schema.contains("$ref")) {
    const std::string pointer = schema.at("$ref").get<std::string>().substr(1);
    if (!valid(value, root.at(Json::json_pointer(pointer)), root)) return false;
  }
  if (!each("anyOf", [](std::size_t fits, std::size_t) { return fits > 0; })) return false;
  if (!each("oneOf", [](std::size_t fits, std::size_t) { return fits == 1; })) return false;
  if (!each("allOf", [](std::size_t fits, std::size_t all) { return fits == all; })) return false;
  if (schema.contains("enum") && std::ranges::find(schema.at("enum"), value) == schema.at("enum").end()) return false;
  if (schema.contains("const") && schema.at("const") != value) return false;
  if (schema.contains("type")) {
    const Json& type = schema.at("type");
    const bool fits = type.is_string() ? is_of(type, value)
                                       : std::ranges::any_of(type, [&](const Json& one) { return is_of(one, value); });
    if (!fits) return false;
  }
  const auto number = [&](const char* name) { return schema.at(name).get<double>(); };
  if (value.is_number()) {
    const auto x = value.get<double>();
    if (schema.contains("minimum") && x < number("minimum")) return false;
    if (schema.contains("maximum") && x > number("maximum")) return false;
    if (schema.contains("exclusiveMinimum") && x <= number("exclusiveMinimum")) return false;
    if (schema.contains("exclusiveMaximum") && x >= number("exclusiveMaximum")) return false;
  }
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    const auto length = static_cast<double>(characters(text));
    if (schema.contains("minLength") && length < number("minLength")) return false;
    if (schema.contains("maxLength") && length > number("maxLength")) return false;
    if (schema.contains("pattern") && !std::regex_search(text, std::regex(schema.at("pattern").get<std::string>())))
      return false;
  }
  if (value.is_array()) {
    const auto count = static_cast<double>(value.size());
    if (schema.contains("minItems") && count < number("minItems")) return false;
    if (schema.contains("maxItems") && count > number("maxItems")) return false;
    const Json prefix = schema.value("prefixItems", Json::array());
    for (std::size_t index = 0; index < value.size(); ++index)
      if (!valid(value[index], index < prefix.size() ? prefix[index] : schema.value("items", Json(true)), root))
        return false;
  }
  if (value.is_object()) {
    const Json properties = schema.value("properties", Json::object());
    const Json required = schema.value("required", Json::array());
    for (const Json& name : required)
      if (!value.contains(name.get<std::string>())) return false;
    for (const auto& [name, member] : value.items())
      if (!valid(member,
                 properties.contains(name) ? properties.at(name) : schema.value("additionalProperties", Json(true)),
                 root))
        return false;
  }
  return true;
}

// A random text of the grammar: bytes at random for a while, then those that bring it to an end.
std::string random_text(const Grammar& grammar, std::mt19937& random) {
  GrammarMatcher matcher(std::make_shared<const Grammar>(grammar));
  State state = matcher.start();
  std::string text;
  const std::size_t patience = random() % 120;
  const std::string to_the_end = "\"}]0atfn:, e";
  while (matcher.goes_on(state)) {
    if (matcher.complete(state) && (text.size() > patience || random() % 4 == 0)) break;
    std::string may, likely;
    for (int byte = 0; byte < 256; ++byte)
      if (matcher.after_byte(state, static_cast<unsigned char>(byte)) != GrammarMatcher::kNone) {
        may += static_cast<char>(byte);
        if (to_the_end.find(static_cast<char>(byte)) != std::string::npos) likely += static_cast<char>(byte);
      }
    if (may.empty()) throw std::runtime_error("a dead end after " + text);
    char byte = may[random() % may.size()];
    if (!likely.empty() && random() % 3 == 0) byte = likely[random() % likely.size()];
    if (text.size() > patience)
      for (auto want = to_the_end.rbegin(); want != to_the_end.rend(); ++want)
        if (may.find(*want) != std::string::npos) byte = *want;
    text += byte;
    state = matcher.after_byte(state, static_cast<unsigned char>(byte));
    if (text.size() > 20'000) throw std::runtime_error("no end: " + text.substr(0, 200));
  }
  return text;
}

const char* const kSchemas[] = {
    R"({})",
    R"({"type":"object"})",
    R"({"type":["string","null","integer"],"maxLength":2,"minimum":3})",
    R"({"type":"string","minLength":2,"maxLength":5})",
    R"({"type":"array","items":{"type":"boolean"},"minItems":2,"maxItems":4})",
    R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":false,"minItems":1})",
    R"({"type":"array","prefixItems":[{"type":"integer"},{"const":"x"}],"items":{"type":"null"},"minItems":3,"maxItems":5})",
    R"({"enum":["a","ab","abc",1,null,{"k":[1,2]},"\u4e2d\""]})",
    R"({"type":"string","enum":["red","green",5]})",
    R"({"const":{"a":1}})",
    R"({"type":"integer","minimum":-17,"maximum":1234})",
    R"({"type":"integer","exclusiveMinimum":99})",
    R"({"type":"integer","maximum":-5,"minimum":-1000})",
    R"({"type":"number","minimum":0,"maximum":1})",
    R"({"type":"number","exclusiveMinimum":0,"exclusiveMaximum":2})",
    R"({"type":"number","minimum":-2.5,"exclusiveMaximum":-1})",
    R"({"type":"number","minimum":-3.5,"maximum":7.25})",
    R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"},"c":{"type":"null"}},
        "required":["b"],"additionalProperties":false})",
    R"({"type":"object","properties":{"a":{"type":"integer"},"ab":{"type":"null"}},"additionalProperties":{"type":"boolean"}})",
    R"({"type":"object","additionalProperties":{"type":"integer"},"required":["z"]})",
    R"({"type":"object","properties":{},"additionalProperties":false})",
    R"({"anyOf":[{"type":"string","maxLength":1},{"type":"array","items":{"$ref":"#"},"maxItems":2}]})",
    R"({"$ref":"#/$defs/tree","$defs":{"tree":{"type":"object","properties":{"v":{"type":"integer"},
        "kids":{"type":"array","items":{"$ref":"#/$defs/tree"},"maxItems":2}},"required":["v"]}}})",
    R"({"oneOf":[{"type":"object","properties":{"kind":{"const":"cat"},"lives":{"type":"integer"}},"required":["kind"]},
        {"type":"object","properties":{"kind":{"const":"dog"}},"required":["kind"]},{"type":"null"}]})",
    R"({"allOf":[{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},
        {"properties":{"b":{"type":"string","maxLength":1}},"required":["b"]}]})",
    R"({"title":"T","description":"d","type":"object","properties":{"x":{"allOf":[{"$ref":"#/$defs/X"}],"default":1}},
        "$defs":{"X":{"type":"integer","title":"X"}}})",
    R"({"type":"string","pattern":"^[a-c]{2,3}(-\\d+)?$"})",
    R"x({"type":"string","pattern":"^(b\"|[A-Z_]x)"})x",
    R"({"type":"string","pattern":"^(?:foo|ba[rz])\\.?\\w*$"})",
    R"({"type":"string","format":"date"})",
    R"({"type":"string","format":"date-time"})",
    R"({"type":"string","format":"uuid"})",
    R"({"type":"string","format":"ipv4"})",
    R"({"type":"integer","multipleOf":1,"minimum":9999999999999999})",
};

TEST(JsonSchema, EveryTextThatIsLetThroughIsValid) {
  std::mt19937 random(1);
  for (const char* text : kSchemas) {
    SCOPED_TRACE(text);
    const Json schema = Json::parse(text);
    const Grammar grammar = test::must(json_schema_grammar(text));
    for (int round = 0; round < 40; ++round) {
      const std::string written = random_text(grammar, random);
      const Json value = Json::parse(written, nullptr, false);
      ASSERT_FALSE(value.is_discarded()) << written;
      ASSERT_TRUE(valid(value, schema, schema)) << written;
    }
  }
}

bool lets_through(const char* schema, std::string_view text) {
  GrammarMatcher matcher(std::make_shared<const Grammar>(test::must(json_schema_grammar(schema))));
  State state = matcher.start();
  for (const char byte : text)
    if (state != GrammarMatcher::kNone) state = matcher.after_byte(state, static_cast<unsigned char>(byte));
  return state != GrammarMatcher::kNone && matcher.complete(state);
}

TEST(JsonSchema, WhatModelsWriteIsLetThrough) {
  const char* const person =
      R"({"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0}},"required":["name"]})";
  for (const char* text : {R"({"name":"Ann","age":31})", R"({"name": "Ann", "age": 31})", R"({ "name": "\u00e9\n" })",
                           "{\n  \"name\": \"Ann\",\n  \"age\": 0\n}", "{\n\t\"name\": \"\xC3\xA9\"\n}"})
    EXPECT_TRUE(lets_through(person, text)) << text;
  for (const char* text : {"{}", R"({"name":"Ann","age":-1})", R"({"name":"Ann","age":01})", R"({"age":1})",
                           R"({"name":"Ann",})", R"({"name":"Ann"} )",
                           R"({"name":"a)"
                           "\x01"
                           R"("})",
                           R"({"name":"\ud800"})"})
    EXPECT_FALSE(lets_through(person, text)) << text;
  for (const char* number : {"0", "-1", "1.5", "1e5", "-0.25E-3"})
    EXPECT_TRUE(lets_through(R"({"type":"number"})", number));
  for (const char* number : {"", "01", "1.", ".5", "1e", "+1", "1e999", "0x1"})
    EXPECT_FALSE(lets_through(R"({"type":"number"})", number)) << number;
}

TEST(JsonSchema, IntegersOfARangeAreAllOfThemAndNoOthers) {
  for (const auto& [least, most] : {std::pair(-12, 134), {0, 0}, {95, 1005}, {-20, -9}, {7, 7}}) {
    const std::string schema =
        R"({"type":"integer","minimum":)" + std::to_string(least) + R"(,"maximum":)" + std::to_string(most) + "}";
    for (int number = -150; number <= 1100; ++number)
      ASSERT_EQ(lets_through(schema.c_str(), std::to_string(number)), number >= least && number <= most)
          << schema << number;
  }
}

TEST(JsonSchema, WhatCannotBeHeldToIsRefusedByItsPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"type":"object","properties":{"a":{"type":"array","uniqueItems":true}}})", "#/properties/a/uniqueItems"},
      {R"({"type":"integer","multipleOf":5})", "#/multipleOf"},
      {R"({"not":{"type":"null"}})", "#/not"},
      {R"({"type":"object","patternProperties":{"^a":{}}})", "#/patternProperties"},
      {R"({"type":"object","minProperties":2})", "#/minProperties"},
      {R"({"type":"string","format":"regex"})", "#/format"},
      {R"x({"type":"string","pattern":"a(?=b)"})x", "special kind"},
      {R"x({"type":"string","pattern":"(a)\\1"})x", "\\1"},
      {R"({"type":"string","pattern":"[a"})", "without its ]"},
      {R"({"type":"string","pattern":"a","maxLength":3})", "#/pattern"},
      {R"({"type":"banana"})", "'banana'"},
      {R"({"$ref":"#/$defs/none"})", "leads nowhere"},
      {R"({"$ref":"http://example.com/x"})", "leads nowhere"},
      {R"({"anyOf":[]})", "#/anyOf"},
      {R"({"anyOf":[{"type":"null"}],"minLength":1})", "#/minLength"},
      {R"({"oneOf":[{"type":"integer"},{"type":"number"}]})", "#/oneOf"},
      // Both have a type, and a member of that name with the same constant.
      {R"({"oneOf":[{"type":"object","properties":{"type":{"const":"a"}},"required":["type"]},
                    {"type":"object","properties":{"type":{"const":"a"},"n":{"type":"integer"}},"required":["type"]}]})",
       "#/oneOf"},
      {R"({"type":"number","minimum":0.5,"maximum":0.75})", "range"},
      {R"({"type":"string","minLength":3,"maxLength":2})", "#/maxLength"},
      {R"({"type":"object","required":["a"],"additionalProperties":false})", "allows nothing"},
      {R"({"enum":[]})", "#/enum"},
      {R"([])", "no schema"},
      {R"({"type":)", "not valid JSON"},
      {R"({"$ref":"#/$defs/a","$defs":{"a":{"type":"array","items":{"$ref":"#/$defs/a"},"minItems":1}}})",
       "allows no text"},
      {R"({"type":"string","maxLength":50001})", "#/maxLength"},
  };
  for (const auto& [schema, complaint] : cases) {
    const Result<Grammar> grammar = json_schema_grammar(schema);
    ASSERT_FALSE(grammar) << schema;
    EXPECT_EQ(grammar.error().kind, ErrorKind::bad_input);
    EXPECT_NE(grammar.error().what.find(complaint), std::string::npos) << grammar.error().what;
  }
}

// A member's rule alone: which texts it allows.
class MemberTexts {
 public:
  explicit MemberTexts(const std::string& parameters) {
    JsonRules json(builder_);
    shapes = test::must(json_schema_shapes(parameters, json));
  }
  bool allows(const SchemaMember& member, const std::string& text) {
    GrammarBuilder builder = builder_;
    const GrammarBuilder::Symbol root = builder.choice({{member.value}});
    GrammarMatcher matcher(std::make_shared<const Grammar>(test::must(builder.finish(root))));
    State state = matcher.start();
    for (const char byte : text) {
      state = matcher.after_byte(state, static_cast<unsigned char>(byte));
      if (state == GrammarMatcher::kNone) return false;
    }
    return matcher.complete(state);
  }
  std::vector<SchemaMembers> shapes;

 private:
  GrammarBuilder builder_;
};

// Strings are written bare: their rules hold for the text without quotes and escapes, however the schema says them.
TEST(JsonSchema, BareStringsFollowTheirSchemas) {
  struct Case {
    const char *schema, *right, *wrong;
  };
  const Case cases[] = {
      {R"({"type":"string"})", "any \"text\"\n\\ at all", nullptr},
      {R"({"type":"string","maxLength":3})", "a\"\xc3\xa9", "abcd"},
      {R"({"type":"string","minLength":2})", "\"\"", "a"},
      {R"({"type":"string","pattern":"^[a-z\"]+$"})", "a\"b", "a1"},
      {R"({"type":"string","pattern":"^a.c$"})", "a\\c", "a\\\\c"},
      {R"({"type":"string","format":"date"})", "2026-11-30", "yesterday"},
      {R"({"type":"string","enum":["a\"b","c"]})", "a\"b", "\"c\""},
      {R"({"const":"x\ny"})", "x\ny", "x"},
      {R"({"enum":["p","q"]})", "q", "r"},
      {R"({"$ref":"#/$defs/short"})", "\"", "abc"},
      {R"({"anyOf":[{"$ref":"#/$defs/short"},{"const":"longer"}]})", "longer", "long"},
      {R"({"allOf":[{"$ref":"#/$defs/short"}]})", "ab", "abc"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.schema);
    MemberTexts texts(std::string(R"({"type":"object","properties":{"a":)") + one.schema +
                      R"(},"$defs":{"short":{"type":"string","maxLength":2}}})");
    const SchemaMember& member = texts.shapes.at(0).at(0);
    EXPECT_EQ(member.type, "string");
    EXPECT_TRUE(texts.allows(member, one.right));
    if (one.wrong != nullptr) {
      EXPECT_FALSE(texts.allows(member, one.wrong));
    }
  }
}

TEST(JsonSchema, OtherMembersAreJson) {
  MemberTexts texts(
      R"({"properties":{"days":{"$ref":"#/$defs/d"},"who":{"type":["string","null"]},"which":{"enum":["C",1]},"in":{"type":"string","nullable":true}},
          "required":["days","more"],"$defs":{"d":{"type":"integer"}}})");
  const SchemaMembers& members = texts.shapes.at(0);
  ASSERT_EQ(members.size(), 5u);
  EXPECT_TRUE(members[0].type == "number" && members[0].required && texts.allows(members[0], "12"));
  for (const std::size_t other : {1u, 2u, 3u}) {
    EXPECT_TRUE(members[other].type == "object" && !members[other].required);
    EXPECT_TRUE(texts.allows(members[other], "\"C\"")) << members[other].name;
    EXPECT_FALSE(texts.allows(members[other], "C")) << members[other].name;
  }
  EXPECT_TRUE(members[4].name == "more" && members[4].required);
}

TEST(JsonSchema, ShapesOfAnObject) {
  MemberTexts either(
      R"({"anyOf":[{"type":"object","properties":{"city":{"type":"string"},"id":{"type":"string"}},"required":["city"]},{"$ref":"#/$defs/by_id"}],
          "$defs":{"by_id":{"properties":{"id":{"type":"integer"}},"required":["id"]}}})");
  ASSERT_EQ(either.shapes.size(), 2u);
  EXPECT_EQ(either.shapes[0].at(0).type, "string");
  EXPECT_EQ(either.shapes[0].at(1).type, "object") << "elsewhere it is a number: a reader must be told that it is not";
  EXPECT_TRUE(either.allows(either.shapes[0].at(1), "\"7\""));
  EXPECT_EQ(either.shapes[1].at(0).type, "number");
  MemberTexts both(
      R"({"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"boolean"}}}]})");
  ASSERT_EQ(both.shapes.size(), 1u);
  ASSERT_EQ(both.shapes[0].size(), 2u);
  EXPECT_TRUE(both.shapes[0][0].required && !both.shapes[0][1].required);
  for (const auto& [schema, complaint] :
       {std::pair(R"({"type":"string"})", "#/type"), std::pair(R"({"not":{}})", "#/not"), std::pair("[]", "#"),
        std::pair(R"({"anyOf":[{"type":"array"}]})", "#/anyOf/0/type"), std::pair(R"({"$ref":"#"})", "too deep")}) {
    GrammarBuilder builder;
    JsonRules json(builder);
    const auto shapes = json_schema_shapes(schema, json);
    ASSERT_FALSE(shapes) << schema;
    EXPECT_NE(shapes.error().what.find(complaint), std::string::npos) << shapes.error().what;
  }
}

}  // namespace
}  // namespace sluice
