// Tests of how GLM-5.2's prompts are written: every example and rule of spec section 8.1.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "models/glm_dsa/chat.h"
#include "models/glm_dsa/tokenizer.h"
#include "support/must.h"
#include "support/temp_dir.h"
#include "support/tokenizer_json.h"

namespace sluice::glm_dsa {
namespace {

Message says(Role role, const std::string& text) { return {.role = role, .content = {{.text = text}}}; }

std::string rendered(const Conversation& conversation, const ChatOptions& options = {}) {
  std::string text;
  for (const PromptPart& part : test::must(render_prompt(conversation, options))) text += part.text;
  return text;
}
std::string rendered(const std::vector<Message>& messages, const ChatOptions& options = {}) {
  return rendered(Conversation{.messages = messages}, options);
}

const ChatOptions kOff = {.thinking = false};
const std::string kMax = "[gMASK]<sop><|system|>Reasoning Effort: Max";
const std::string kTools =
    "<|system|>\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are provided with "
    "function signatures within <tools></tools> XML tags:\n<tools>\n"
    R"({"name": "get_weather", "description": "Wetter f)"
    "\u00fc"
    R"(r eine Stadt", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}})"
    "\n</tools>\n\nFor each function call, output the function name and arguments within the following XML format:\n"
    "<tool_call>{function-name}<arg_key>{arg-key-1}</arg_key><arg_value>{arg-value-1}</arg_value><arg_key>{arg-key-2}"
    "</arg_key><arg_value>{arg-value-2}</arg_value>...</tool_call>";
const std::string kWeather =
    "{\"type\":\"function\",\"function\":{\"name\":\"get_weather\",\"description\":\"Wetter f\\u00fcr eine Stadt\","
    "\"strict\":true,\"parameters\":{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"}}}}}";

const Message kCall = {.role = Role::assistant,
                       .reasoning = "Ask the tool.",
                       .calls = {{.name = "get_weather", .arguments = R"({"city":"Oslo","days":2})"}}};

TEST(GlmRender, ExamplesOfTheSpecification) {
  EXPECT_EQ(rendered({says(Role::user, "Hello")}), kMax + "<|user|>Hello<|assistant|><think>");
  EXPECT_EQ(rendered({says(Role::user, "Hello")}, kOff), "[gMASK]<sop><|user|>Hello<|assistant|><think></think>");
  EXPECT_EQ(rendered({says(Role::system, "Be brief."), says(Role::user, "One?"), says(Role::assistant, "First."),
                      says(Role::user, "Two?")},
                     kOff),
            "[gMASK]<sop><|system|>Be brief.<|user|>One?<|assistant|><think></think>First.<|user|>Two?<|assistant|>"
            "<think></think>");
  EXPECT_EQ(rendered({says(Role::user, "Hi")}, {.effort = "high"}),
            "[gMASK]<sop><|system|>Reasoning Effort: High<|user|>Hi<|assistant|><think>");
  EXPECT_EQ(rendered({.tools = {kWeather},
                      .messages = {says(Role::user, "Weather in Oslo?"), kCall, says(Role::tool, "12 C")}}),
            kMax + kTools +
                "<|user|>Weather in Oslo?<|assistant|><think>Ask the tool.</think><tool_call>get_weather<arg_key>city"
                "</arg_key><arg_value>Oslo</arg_value><arg_key>days</arg_key><arg_value>2</arg_value></tool_call>"
                "<|observation|><tool_response>12 C</tool_response><|assistant|><think>");
}

TEST(GlmRender, EffortHasTwoLevels) {
  for (const char* effort : {"low", "medium", "max", "absurd"})
    EXPECT_EQ(rendered(std::vector<Message>{}, {.effort = effort}), kMax + "<|assistant|><think>");
  EXPECT_EQ(rendered(std::vector<Message>{}, {.thinking = false, .effort = "high"}),
            "[gMASK]<sop><|assistant|><think></think>");
}

TEST(GlmRender, ToolsAreUnwrappedAndDeferredOnesAreNotListed) {
  EXPECT_EQ(rendered({.tools = {kWeather, R"({"function":{"name":"later","defer_loading":true}})"}}),
            kMax + kTools + "<|assistant|><think>");
  const std::string two = rendered({.tools = {R"({"name":"a","defer_loading":false})", R"({"name":"b","n":1.50})"}});
  EXPECT_NE(two.find("<tools>\n{\"name\": \"a\"}\n{\"name\": \"b\", \"n\": 1.5}\n</tools>"), std::string::npos) << two;
  EXPECT_EQ(rendered({.tools = {kWeather}}, {.tool_choice = ToolChoice::none}), kMax + "<|assistant|><think>");
}

TEST(GlmRender, ReasoningIsShownAfterTheLastUserMessage) {
  Message thought = says(Role::assistant, "b");
  thought.reasoning = " r1 ";
  const std::vector<Message> old = {says(Role::user, "a"), thought, says(Role::user, "c")};
  EXPECT_EQ(rendered(old), kMax + "<|user|>a<|assistant|><think></think>b<|user|>c<|assistant|><think>");
  EXPECT_EQ(rendered(old, {.keep_reasoning = true}),
            kMax + "<|user|>a<|assistant|><think> r1 </think>b<|user|>c<|assistant|><think>");
  // Reasoning that stands in the content.
  const Message inside = says(Role::assistant, "<think>why</think>\n\nso");
  EXPECT_EQ(rendered({says(Role::user, "a"), inside}, kOff),
            "[gMASK]<sop><|user|>a<|assistant|><think>why</think>so<|assistant|><think></think>");
  EXPECT_EQ(rendered({inside, says(Role::user, "a")}, kOff),
            "[gMASK]<sop><|assistant|><think></think>so<|user|>a<|assistant|><think></think>");
  // A conversation without a user.
  EXPECT_EQ(rendered({thought}, kOff), "[gMASK]<sop><|assistant|><think> r1 </think>b<|assistant|><think></think>");
}

TEST(GlmRender, ContentIsStrippedAndCallsFollowWithoutAGap) {
  Message turn = says(Role::assistant, "\n Let me see. \u3000\n");
  turn.calls = {{.name = "f"},
                {.name = "g",
                 .arguments = R"({"s":"<b>\n","n":1e2,"l":[1,"x"],"o":{"k":null},"t":true,"u":"\u00e9"})",
                 .arguments_are_object = true}};
  EXPECT_EQ(
      rendered({turn}, kOff),
      "[gMASK]<sop><|assistant|><think></think>Let me see.<tool_call>f</tool_call><tool_call>g<arg_key>s</arg_key>"
      "<arg_value><b>\n</arg_value><arg_key>n</arg_key><arg_value>100.0</arg_value><arg_key>l</arg_key><arg_value>"
      "[1, \"x\"]</arg_value><arg_key>o</arg_key><arg_value>{\"k\": null}</arg_value><arg_key>t</arg_key>"
      "<arg_value>true</arg_value><arg_key>u</arg_key><arg_value>\u00e9</arg_value></tool_call>"
      "<|assistant|><think></think>");
}

TEST(GlmRender, RunsOfResultsShareOneObservation) {
  EXPECT_EQ(rendered({says(Role::tool, "1"), says(Role::tool, "2"), kCall, says(Role::tool, "3")}, kOff),
            "[gMASK]<sop><|observation|><tool_response>1</tool_response><tool_response>2</tool_response><|assistant|>"
            "<think>Ask the tool.</think><tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value>"
            "<arg_key>days</arg_key><arg_value>2</arg_value></tool_call><|observation|><tool_response>3</tool_response>"
            "<|assistant|><think></think>");
}

TEST(GlmRender, PartsAreJoinedAndADeveloperIsTheSystem) {
  EXPECT_EQ(rendered({{.role = Role::developer, .content = {{.text = "a"}, {.text = "b"}}}}, kOff),
            "[gMASK]<sop><|system|>ab<|assistant|><think></think>");
}

TEST(GlmRender, TextNeverBecomesAControlToken) {
  const test::TokenizerJson file = {
      .added = test::glm_added_tokens(), .splits = {test::kGlmSplit}, .ignore_merges = true};
  const test::TempDir directory;
  file.write(directory.path());
  const auto tokenizer = test::must(open_tokenizer(directory.path(), file.tokens()));
  const auto chat = test::must(open_chat(*tokenizer, directory.path()));
  std::string all;
  for (const auto& [text, special] : test::glm_added_tokens()) all += text;
  const auto conversation = [](const std::string& text) {
    const std::string json = nlohmann::json(text).dump();
    return Conversation{.tools = {"{\"name\":" + json + "}"},
                        .messages = {says(Role::system, text),
                                     says(Role::user, text),
                                     {.role = Role::assistant,
                                      .content = {{.text = "x" + text}},
                                      .reasoning = text + "x",
                                      .calls = {{.name = text, .arguments = "{" + json + ":" + json + "}"}}},
                                     says(Role::tool, text)}};
  };
  const auto controls = [&](const std::string& text) {
    std::vector<int> ids = test::must(chat->render(conversation(text), {.keep_reasoning = true}));
    std::erase_if(ids, [&](int id) { return !tokenizer->is_special(id); });
    return ids;
  };
  EXPECT_EQ(controls(all), controls("harmless"));
}

TEST(GlmRender, WhatTheFormatCannotSayIsRefused) {
  const struct {
    Conversation conversation;
    ChatOptions options;
    const char* complaint;
  } cases[] = {
      {{.tools = {"{}", "[]"}}, {}, "tool 2"},
      {{.messages = {{.role = Role::assistant, .calls = {{.name = "f", .arguments = "[1]"}}}}},
       {},
       "message 1 (assistant): the call's arguments"},
      {{.messages = {{.role = Role::assistant, .calls = {{.name = "f", .arguments = "{"}}}}}, {}, "not JSON"},
      {{.messages = {{.role = Role::system, .tools = {"{}"}}}}, {}, "tools that a message declares"},
      {{.messages = {{.role = Role::latest_reminder}}}, {}, "reminders"},
      {{.messages = {{.content = {{ContentPart::Kind::media, "image_url"}}}}}, {}, "'image_url'"},
  };
  for (const auto& item : cases) {
    const auto parts = render_prompt(item.conversation, item.options);
    ASSERT_FALSE(parts) << item.complaint;
    EXPECT_NE(parts.error().what.find(item.complaint), std::string::npos) << parts.error().what;
  }
}

TEST(GlmChat, OnlyTheTemplateOfThisRelease) {
  const test::TokenizerJson file = {.added = test::glm_added_tokens(), .splits = {test::kGlmSplit}};
  const test::TempDir directory;
  file.write(directory.path());
  const auto tokenizer = test::must(open_tokenizer(directory.path(), file.tokens()));
  const auto with_template = [&](const char* text) {
    std::ofstream(directory / "chat_template.jinja") << text;
    return open_chat(*tokenizer, directory.path());
  };
  EXPECT_TRUE(open_chat(*tokenizer, directory.path()));
  EXPECT_TRUE(with_template("{% if enable_thinking %}Reasoning Effort: {% endif %}"));
  EXPECT_FALSE(with_template("{% if enable_thinking %}{% endif %}"));
  EXPECT_FALSE(with_template("Reasoning Effort: Low"));
  std::vector<int> stops;
  for (const char* text : {"<|endoftext|>", "<|user|>", "<|observation|>", "<|system|>", "<|assistant|>"})
    stops.push_back(tokenizer->special_id(text));
  const test::TempDir empty;
  EXPECT_EQ(test::must(open_chat(*tokenizer, empty.path()))->stop_ids(), stops);

  test::TokenizerJson lacking = file;
  lacking.added.erase(lacking.added.begin() + 27);  // <arg_key>
  lacking.write(directory.path());
  const auto other = test::must(open_tokenizer(directory.path(), lacking.tokens()));
  const auto refused = open_chat(*other, empty.path());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("<arg_key>"), std::string::npos);
}

}  // namespace
}  // namespace sluice::glm_dsa
