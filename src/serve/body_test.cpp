// Tests of body.h: every kind of wrong field is a 400 that names it, and nothing a caller sends is worse than that.
#include "serve/body.h"

#include <gtest/gtest.h>

namespace sluice::serve {
namespace {

ApiError refusal(std::string_view text) {
  const auto json = parse_body(text);
  EXPECT_FALSE(json) << text;
  return json ? ApiError{0, {}, {}, {}} : json.error();
}

TEST(ParseBody, RefusesWhatIsNoObject) {
  for (const char* text : {"", "x", "[]", "5", "null", "\"a\"", "{", "{\"a\":1}}", "{\"a\":\"\xff\"}", "{\"a\":1e999}",
                           "{\"a\":\"\\ud800\"}"})
    EXPECT_EQ(refusal(text).status, 400) << text;
}

TEST(ParseBody, RefusesWhatCostsMoreThanItsBytes) {
  EXPECT_EQ(refusal("{\"a\":" + std::string(1000, '[') + std::string(1000, ']') + "}").status, 400);
  EXPECT_EQ(refusal("{\"a\":" + std::string(100'000'000, '[')).status, 400);
  std::string many = "{\"a\":[0";
  for (int value = 0; value < 300'000; ++value) many += ",0";
  EXPECT_EQ(refusal(many + "]}").status, 400);
  const std::string quoted = "{\"a\":\"" + std::string(300'000, ',') + std::string(1000, '[') + "\"}";
  EXPECT_TRUE(parse_body(quoted)) << "commas and brackets in a string are no values";
}

TEST(Body, NamesTheFirstWrongField) {
  const Json json = *parse_body(R"({"a":1.5,"b":"text","c":[{"d":5}],"e":null})");
  const Body body(json);
  EXPECT_EQ(body.integer_or("e", 7, 0, 9), 7) << "null counts as missing";
  EXPECT_FALSE(body.fault());
  body.element("c", *body.list("c"), 0).text("d");
  ASSERT_TRUE(body.fault());
  EXPECT_EQ(body.fault()->param, "c[0].d");
  EXPECT_EQ(body.fault()->status, 400);
  body.integer_or("a", 0, 0, 9);
  EXPECT_EQ(body.fault()->param, "c[0].d") << "the first one counts";
}

TEST(Body, ChecksTypesAndRanges) {
  const Json json = *parse_body(R"({"f":1.5,"big":18446744073709551615,"neg":-1,"t":"x","o":{},"l":[1]})");
  const auto wrong = [&](auto read) {
    const Body body(json);
    read(body);
    return body.fault().has_value();
  };
  EXPECT_TRUE(wrong([](const Body& b) { b.integer_or("f", 0, 0, 9); }));
  EXPECT_TRUE(wrong([](const Body& b) { b.integer_or("big", 0, INT64_MIN, INT64_MAX); }));
  EXPECT_TRUE(wrong([](const Body& b) { b.integer_or("neg", 0, 0, 9); }));
  EXPECT_TRUE(wrong([](const Body& b) { b.integer_or("t", 0, 0, 9); }));
  EXPECT_TRUE(wrong([](const Body& b) { b.number_or("f", 0, 2, 3); }));
  EXPECT_TRUE(wrong([](const Body& b) { b.number_or("t", 0, 0, 9); }));
  EXPECT_TRUE(wrong([](const Body& b) { b.flag_or("f", true); }));
  EXPECT_TRUE(wrong([](const Body& b) { b.text_or("l", {}); }));
  EXPECT_TRUE(wrong([](const Body& b) { b.text("missing"); }));
  EXPECT_TRUE(wrong([](const Body& b) { b.list("o"); }));
  EXPECT_TRUE(wrong([](const Body& b) { b.object("l"); }));
  EXPECT_TRUE(wrong([](const Body& b) { b.element("l", *b.list("l"), 0); }));
  EXPECT_FALSE(wrong([](const Body& b) {
    b.number_or("f", 0, 1, 2);
    b.integer_or("neg", 0, -1, 0);
    b.object("missing").text_or("x", {});
  }));
}

TEST(Raw, KeepsTheSpelling) {
  const std::string json = R"({ "a" : [ {"n": 1.0, "s":"],[\""} , 2e5,"x" ], "b":{} })";
  const std::vector<std::string> elements = raw_elements(raw_member(json, "a"));
  ASSERT_EQ(elements.size(), 3u);
  EXPECT_EQ(elements[0], R"({"n": 1.0, "s":"],[\""})");
  EXPECT_EQ(elements[1], "2e5");
  EXPECT_EQ(elements[2], "\"x\"");
  EXPECT_TRUE(raw_elements("[]").empty());
  EXPECT_TRUE(raw_elements(raw_member(json, "none")).empty());
}

}  // namespace
}  // namespace sluice::serve
