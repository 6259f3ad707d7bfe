// Answers that are held to a form: by run, by the server, of every family's chat format.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "support/served.h"
#include "support/temp_dir.h"

namespace sluice::test {
namespace {

using Json = nlohmann::json;

constexpr const char* kPerson =
    R"({"type":"object","properties":{"name":{"type":"string","maxLength":12},"age":{"type":"integer","minimum":1,"maximum":120},
        "likes":{"type":"array","items":{"enum":["tea","books"]},"maxItems":2}},"required":["name","age","likes"]})";

void expect_person(const std::string& text) {
  const Json person = Json::parse(text, nullptr, false);
  ASSERT_TRUE(person.is_object()) << text;
  EXPECT_LE(person.at("name").get<std::string>().size(), 48u);
  EXPECT_TRUE(person.at("age").get<int>() >= 1 && person.at("age").get<int>() <= 120) << text;
  EXPECT_LE(person.at("likes").size(), 2u);
}

class Constrained : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Families, Constrained, testing::ValuesIn(kFamilies), family_name);

TEST_P(Constrained, RunWritesWhatGrammarsAndSchemasAllow) {
  const TempDir scratch;
  std::ofstream(scratch / "person.json") << kPerson;
  std::ofstream(scratch / "answer.gbnf") << "root ::= (\"yes\" | \"no\") [!?]{2}\n";
  for (const char* seed : {"1", "2", "3"}) {
    const Arguments hot = {"--prompt", "Hello", "--temperature", "1.5", "--seed", seed, "--max-tokens", "400"};
    const Arguments person = hot + Arguments{"--json-schema", (scratch / "person.json").string()};
    expect_person(generated(demo_model(GetParam()), person).report.at("text"));
    const Generated chat = generated(demo_model(GetParam()), person + Arguments{"--chat"});
    if (chat.report.at("finish") == "stop") expect_person(chat.report.at("text"));  // else its reasoning was long
    const Arguments grammar = hot + Arguments{"--grammar", (scratch / "answer.gbnf").string()};
    const Generated yes_or_no = generated(demo_model(GetParam()), grammar);
    const std::string text = yes_or_no.report.at("text");
    EXPECT_TRUE((text.starts_with("yes") || text.starts_with("no")) && text.size() < 6) << text;
    EXPECT_EQ(yes_or_no.report.at("finish"), "stop");
    EXPECT_EQ(generated(demo_model(GetParam()), grammar + Arguments{"--recompute"}).answer(), yes_or_no.answer());
    EXPECT_EQ(generated(demo_model(GetParam()), grammar + Arguments{"--threads", "1"}).answer(), yes_or_no.answer());
  }
}

std::string chat_body(const std::string& more, int seed) {
  return fmt::format(
      R"({{"messages":[{{"role":"user","content":"Hello"}}],"temperature":1.2,"seed":{},"max_tokens":500,"reasoning_effort":"none",{}}})",
      seed, more);
}

TEST_P(Constrained, ChatAnswersFollowTheirSchema) {
  const Served server({}, demo_model(GetParam()));
  for (int seed = 1; seed <= 4; ++seed) {
    const std::string schema = fmt::format(
        R"("response_format":{{"type":"json_schema","json_schema":{{"name":"p","strict":true,"schema":{}}}}})",
        kPerson);
    const Json answer = server.posted(kChatPath, chat_body(schema, seed));
    EXPECT_EQ(answer.at("choices").at(0).at("finish_reason"), "stop");
    expect_person(answer.at("choices").at(0).at("message").at("content"));
    const Json object =
        server.posted(kChatPath, chat_body(R"("max_tokens":3000,"response_format":{"type":"json_object"})", seed));
    const Json& choice = object.at("choices").at(0);
    if (choice.at("finish_reason") == "stop") {
      EXPECT_TRUE(Json::parse(choice.at("message").at("content").get<std::string>(), nullptr, false).is_object());
    }
    const Json word = server.posted(kChatPath, chat_body(R"("grammar":"root ::= \"A\" | \"B\"")", seed));
    const std::string letter = word.at("choices").at(0).at("message").at("content");
    EXPECT_TRUE(letter == "A" || letter == "B") << letter;
  }
}

constexpr const char* kTools =
    R"("tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object","properties":{
       "place":{"type":"string","enum":["here","there"]},"times":{"type":"integer","minimum":0,"maximum":9}},"required":["place","times"]}}},
       {"type":"function","function":{"name":"wait","parameters":{"type":"object","properties":{"deep":{"type":"object",
       "properties":{"flag":{"type":"boolean"}},"required":["flag"]}},"required":["deep"]}}}])";

TEST_P(Constrained, CallsThatAreRequiredAreMade) {
  if (GetParam() == std::string("olmoe")) GTEST_SKIP() << "its chat format knows no tools";
  const Served server({}, demo_model(GetParam()));
  const auto arguments_of = [&](const Json& answer, const std::string& name) {
    const Json& choice = answer.at("choices").at(0);
    EXPECT_EQ(choice.at("finish_reason"), "tool_calls");
    EXPECT_EQ(choice.at("message").at("tool_calls").size(), 1u);
    const Json& function = choice.at("message").at("tool_calls").at(0).at("function");
    EXPECT_EQ(function.at("name"), name);
    return Json::parse(function.at("arguments").get<std::string>());
  };
  for (int seed = 1; seed <= 4; ++seed) {
    const std::string named = R"(,"tool_choice":{"type":"function","function":{"name":"look"}},"logprobs":true)";
    const Json look = arguments_of(server.posted(kChatPath, chat_body(kTools + named, seed)), "look");
    EXPECT_TRUE(look.at("place") == "here" || look.at("place") == "there") << look;
    EXPECT_TRUE(look.at("times").is_number_integer()) << look;
    const std::string wait = R"(,"tool_choice":{"type":"function","function":{"name":"wait"}})";
    const Json waited = arguments_of(server.posted(kChatPath, chat_body(kTools + wait, seed)), "wait");
    EXPECT_TRUE(waited.at("deep").at("flag").is_boolean()) << waited;
    const Json any = server.posted(kChatPath, chat_body(kTools + std::string(R"(,"tool_choice":"required")"), seed));
    EXPECT_EQ(any.at("choices").at(0).at("message").at("tool_calls").size(), 1u) << any;
    // Tools and a form: an answer of the form, or a call.
    const Json both = server.posted(kChatPath, chat_body(kTools + std::string(R"(,"grammar":"root ::= \"A\"")"), seed));
    const Json& message = both.at("choices").at(0).at("message");
    EXPECT_TRUE(message.contains("tool_calls") || message.at("content") == "A") << message;
  }
}

TEST(ConstrainedServer, WhatCannotBeHeldToIsRefusedByItsField) {
  const Served server;
  const auto refused = [&](const std::string& more, const std::string& param, const std::string& complaint) {
    const HttpAnswer answer = server.post(kChatPath, chat_body(more, 1));
    EXPECT_EQ(answer.status, 400) << more;
    const Json error = Json::parse(answer.body).at("error");
    EXPECT_EQ(error.at("param"), param) << error;
    EXPECT_NE(error.at("message").get<std::string>().find(complaint), std::string::npos) << error;
  };
  refused(R"("response_format":{"type":"json_schema","json_schema":{"schema":{"type":"array","uniqueItems":true}}})",
          "response_format", "#/uniqueItems");
  refused(R"("grammar":"root ::= x")", "grammar", "'x'");
  refused(kTools + std::string(R"(,"tool_choice":{"type":"function","function":{"name":"run"}})"),
          "tool_choice.function.name", "run");
  refused(R"("tool_choice":"required")", "tool_choice", "no tool");
  refused(
      R"("tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{"not":{}}}}}}],
             "tool_choice":"required")",
      "tools", "'f'");
  const HttpAnswer raw = server.post(
      "/v1/completions", R"({"prompt":"Hello","max_tokens":50,"grammar":"root ::= [0-9]{4} \"!\"","temperature":2})");
  EXPECT_EQ(Json::parse(raw.body).at("choices").at(0).at("text").get<std::string>().size(), 5u) << raw.body;
}

}  // namespace
}  // namespace sluice::test
