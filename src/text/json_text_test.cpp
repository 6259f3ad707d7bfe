// Tests of json_text.h. Expected spellings were written by Python 3.11's json module.
#include "text/json_text.h"

#include <gtest/gtest.h>

#include "support/must.h"

namespace sluice {
namespace {

std::string compact(std::string_view json) { return test::must(restyle_json(json, kCompactSorted)); }
std::string python(std::string_view json) { return test::must(restyle_json(json, kPythonDefault)); }

TEST(JsonText, SortsKeysAndLeavesNoBlanks) {
  EXPECT_EQ(compact(R"( {"b" : [1, 2.50, {"z":null,"a":true}] , "B":"x", "a":{}, "":[] } )"),
            R"({"":[],"B":"x","a":{},"b":[1,2.5,{"a":true,"z":null}]})");
  EXPECT_EQ(compact("{\"\xc3\xa9\":1,\"z\":2,\"\\u4e2d\":3,\"\xf0\x9f\x98\x80\":4,\"\xef\xbf\xbd\":5}"),
            "{\"z\":2,\"\xc3\xa9\":1,\"\xe4\xb8\xad\":3,\"\xef\xbf\xbd\":5,\"\xf0\x9f\x98\x80\":4}");
  EXPECT_EQ(compact(R"({"a":1,"b":2,"a":3})"), R"({"a":3,"b":2})");
}

TEST(JsonText, PythonKeepsOrderAndPutsBlanks) {
  EXPECT_EQ(python(R"({"b":[1,"two",false],"a":{"k":"v"},"b":0})"), R"({"b": 0, "a": {"k": "v"}})");
  EXPECT_EQ(python(R"([1,"two",false])"), R"([1, "two", false])");
  EXPECT_EQ(python("[]"), "[]");
}

TEST(JsonText, NumbersAreSpelledAsInPython) {
  const std::pair<const char*, const char*> cases[] = {
      {"1.5", "1.5"},
      {"1.0", "1.0"},
      {"1e2", "100.0"},
      {"-0", "0"},
      {"-0.0", "-0.0"},
      {"0.0001", "0.0001"},
      {"0.0005", "0.0005"},
      {"-0.00025", "-0.00025"},
      {"0.00001", "1e-05"},
      {"1e15", "1000000000000000.0"},
      {"1E16", "1e+16"},
      {"123456789012345680.0", "1.2345678901234568e+17"},
      {"1234567.125", "1234567.125"},
      {"-3.0e-7", "-3e-07"},
      {"2.5e+300", "2.5e+300"},
      {"18446744073709551616", "18446744073709551616"},
      {"-123456789012345678901234567890", "-123456789012345678901234567890"},
      {"0.1", "0.1"},
      {"5e-324", "5e-324"},
      {"9007199254740993.0", "9007199254740992.0"}};
  for (const auto& [json, spelled] : cases) EXPECT_EQ(compact(json), spelled) << json;
}

TEST(JsonText, StringsKeepWhatJsonNeedNotEscape) {
  EXPECT_EQ(compact(R"("\u00e9\/\"\\\n\t\b\f\r\u0001\u007f\ud83d\ude00")"),
            "\"\xc3\xa9/\\\"\\\\\\n\\t\\b\\f\\r\\u0001\x7f\xf0\x9f\x98\x80\"");
  EXPECT_EQ(json_string("a\"b\\c\n\x01"), R"("a\"b\\c\n\u0001")");
}

TEST(JsonText, WhatIsNoJsonIsRefused) {
  for (const char* text : {"", "{", "{\"a\":1,}", "[1 2]", "nul", "1e999", "{\"a\":\"\xff\"}", "{} x", "'a'", "NaN"}) {
    const auto restyled = restyle_json(text, kCompactSorted);
    ASSERT_FALSE(restyled) << text;
    EXPECT_EQ(restyled.error().kind, ErrorKind::bad_input);
  }
  const auto deep = restyle_json(std::string(100'000, '[') + std::string(100'000, ']'), kCompactSorted);
  ASSERT_FALSE(deep);
  EXPECT_NE(deep.error().what.find("deeper"), std::string::npos) << deep.error().what;
  EXPECT_TRUE(restyle_json(std::string(512, '[') + std::string(512, ']'), kCompactSorted));
}

TEST(JsonMembers, ValuesKeepTheirSpelling) {
  const auto members = json_members(
      " {\"s\" : \"a\\nb\\u00e9\", \"n\":1e2 ,\"o\":{ \"x\" : [1,2 , \"}\"] },\"a\":[ ],"
      "\"t\":true,\"f\":false,\"z\":null,\"s\":-0.50} and more");
  ASSERT_TRUE(members);
  const struct {
    const char *key, *type, *text;
  } expected[] = {
      {"s", "string", "a\nb\xc3\xa9"}, {"n", "number", "1e2"},   {"o", "object", R"({ "x" : [1,2 , "}"] })"},
      {"a", "array", "[ ]"},           {"t", "boolean", "true"}, {"f", "boolean", "false"},
      {"z", "null", "null"},           {"s", "number", "-0.50"}};
  ASSERT_EQ(members->size(), std::size(expected));
  for (std::size_t place = 0; place < members->size(); ++place) {
    EXPECT_EQ((*members)[place].key, expected[place].key);
    EXPECT_EQ((*members)[place].type, expected[place].type);
    EXPECT_EQ((*members)[place].text, expected[place].text);
  }
  EXPECT_EQ((*members)[0].literal, "\"a\\nb\\u00e9\"");
  EXPECT_TRUE(json_members("{}")->empty());
  EXPECT_TRUE(json_members(" { } x")->empty());
}

TEST(JsonMembers, WhatIsNoObjectHasNone) {
  for (const char* text : {"",           "  ",          "[1]",         "\"a\"",      "{",           "{\"a\"",
                           "{\"a\":",    "{\"a\":1",    "{\"a\":1,",   "{\"a\":1,}", "{a:1}",       "{\"a\":1 \"b\":2}",
                           "{\"a\":01}", "{\"a\":\"x}", "{\"a\":[1,}", "{1:2}",      "{\"a\":tru}", "{\"a\":\"\x01\"}",
                           "{\"a\":[}",  "{\"a\":\"\\", "{,}",         "{\"a\":}",   "{\"a\"::1}",  "null"})
    EXPECT_FALSE(json_members(text)) << text;
}

TEST(JsonMembers, AnyBeginningIsHandled) {
  const std::string whole = R"({"a":{"b":["c\"d",{"e":1}]},"f":"g\\","h":[[],{}]})";
  EXPECT_TRUE(json_members(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(json_members(whole.substr(0, size))) << size;
}

}  // namespace
}  // namespace sluice
