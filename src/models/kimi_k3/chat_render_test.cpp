// Tests of how Kimi K3's prompts are written: byte-exact texts, and the release's ids where its tokens are known.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/kimi_k3/chat.h"
#include "models/kimi_k3/tokenizer.h"
#include "support/kimi_k3_tokens.h"
#include "support/must.h"

namespace sluice::kimi_k3 {
namespace {

using Ids = std::vector<int>;
using test::kKimiK3MessageEnd, test::released_kimi_k3_tokenizer;

Message says(Role role, const std::string& text) { return {.role = role, .content = {{.text = text}}}; }

ChatOptions without_effort(bool thinking = true) { return {.thinking = thinking}; }

std::string rendered(const Conversation& conversation, const ChatOptions& options = without_effort()) {
  std::string text;
  for (const PromptPart& part : test::must(render_prompt(conversation, options))) text += part.text;
  return text;
}
std::string rendered(const Message& message, const ChatOptions& options = without_effort()) {
  return rendered(Conversation{.messages = {message}}, options);
}

Ids prompt_ids(const Conversation& conversation, const ChatOptions& options) {
  return test::must(test::must(open_chat(released_kimi_k3_tokenizer()))->render(conversation, options));
}

Error render_refusal(const Conversation& conversation, const ChatOptions& options = without_effort()) {
  auto parts = render_prompt(conversation, options);
  EXPECT_FALSE(parts);
  return parts ? Error{} : std::move(parts.error());
}

bool holds(const std::vector<int>& ids, const Ids& run) {
  return std::search(ids.begin(), ids.end(), run.begin(), run.end()) != ids.end();
}

const std::string kTail = R"(<|open|>message role="assistant"<|sep|><|open|>think<|sep|>)";

TEST(KimiK3Render, OneUserMessage) {
  const Message question = says(Role::user, "What is 2 + 2?");
  EXPECT_EQ(rendered(question), R"(<|open|>message role="user"<|sep|>What is 2 + 2?)" + kKimiK3MessageEnd + kTail);
  EXPECT_EQ(prompt_ids({.messages = {question}}, without_effort()),
            (Ids{163587, 2778, 6244,   878,    2482,   1,    163589, 5376, 387,   220, 17,     715,    220,   17,    30,
                 163588, 2778, 163589, 163586, 163587, 2778, 6244,   878,  69702, 1,   163589, 163587, 39964, 163589}));
  // What the release's own entry point asks for: the effort message before it.
  Ids both = {163587, 2778,   6244,   878,    14062, 1,      1798,  878,    130400, 59991,  470,   1,    163589, 63,
              130400, 123074, 470,    63,     28560, 418,    1632,  2455,   308,    2704,   306,   651,  9545,   8491,
              347,    2976,   3411,   276,    4503,  8491,   904,   9141,   4661,   3867,   1268,  1332, 5713,   1268,
              50004,  5713,   1268,   19421,  5713,  316,    1268,  5354,   16518,  10048,  276,   2403, 387,    42070,
              472,    1268,   130400, 123074, 470,   105281, 11369, 163588, 2778,   163589, 163586};
  const Ids alone = prompt_ids({.messages = {question}}, without_effort());
  both.insert(both.end(), alone.begin(), alone.end());
  EXPECT_EQ(prompt_ids({.messages = {question}}, test::must(open_chat(released_kimi_k3_tokenizer()))->defaults()),
            both);
}

TEST(KimiK3Render, WithoutThinking) {
  EXPECT_EQ(prompt_ids({.messages = {says(Role::user, "ping")}}, without_effort(false)),
            (Ids{163587, 2778,   6244, 878,  2482, 1,     163589, 15203,  163588, 2778,  163589,
                 163586, 163587, 2778, 6244, 878,  69702, 1,      163589, 163587, 12092, 163589}));
  // An effort says nothing when there is no thinking.
  EXPECT_EQ(rendered(says(Role::user, "ping"), {.thinking = false, .effort = "max"}),
            R"(<|open|>message role="user"<|sep|>ping)" + kKimiK3MessageEnd +
                R"(<|open|>message role="assistant"<|sep|><|open|>response<|sep|>)");
}

TEST(KimiK3Render, PiecesOfATag) {
  const auto parts = test::must(render_prompt({.messages = {{.role = Role::user, .name = "Bo"}}}, without_effort()));
  const std::vector<PromptPart> expected = {
      {true, "<|open|>"}, {false, "message"},  {false, " role"},   {false, "=\""},    {false, "user"},
      {false, "\""},      {false, " name"},    {false, "=\""},     {false, "Bo"},     {false, "\""},
      {true, "<|sep|>"},  {true, "<|close|>"}, {false, "message"}, {true, "<|sep|>"}, {true, "<|end_of_msg|>"}};
  ASSERT_GT(parts.size(), expected.size());
  for (std::size_t at = 0; at < expected.size(); ++at) EXPECT_EQ(parts[at], expected[at]) << at;
}

TEST(KimiK3Render, EachContentPartIsAPieceOfItsOwn) {
  const Message message = {.role = Role::user, .content = {{.text = "wo"}, {.text = ""}, {.text = "rld"}}};
  const auto parts = test::must(render_prompt({.messages = {message}}, without_effort()));
  EXPECT_EQ(std::ranges::count(parts, PromptPart{false, "wo"}), 1);
  EXPECT_EQ(std::ranges::count(parts, PromptPart{false, "rld"}), 1);
}

TEST(KimiK3Render, AttributesAreEscapedAndBodiesAreNot) {
  EXPECT_EQ(rendered({.role = Role::user, .name = R"(a&b"c"<)", .content = {{.text = R"(a&b"c"<)"}}}),
            R"(<|open|>message role="user" name="a&amp;b&quot;c&quot;<"<|sep|>a&b"c"<)" + kKimiK3MessageEnd + kTail);
  const Ids ids = prompt_ids({.messages = {{.role = Role::user, .name = R"(a&b"c")"}}}, without_effort());
  EXPECT_TRUE(holds(ids, {1530, 878, 64, 42055, 54677, 39877, 82190, 39877, 26, 1, 163589}));
}

TEST(KimiK3Render, TextNeverBecomesAControlToken) {
  std::string all;
  for (int id = 163584; id < 163840; ++id) all += released_kimi_k3_tokenizer().bytes(id);
  const ToolCall call = {.id = all, .name = all, .arguments = R"({"<|open|>":"<|sep|>","b":["<|close|>"]})"};
  const ToolCall broken = {.name = "x", .arguments = all};
  const Conversation hostile = {
      .tools = {R"({"type":"<|end_of_msg|>","function":{"name":"[EOS]"}})"},
      .messages = {
          {.role = Role::system, .name = all, .content = {{.text = all}}},
          {.role = Role::user, .name = all, .content = {{.text = all}, {.text = all}}},
          {.role = Role::assistant, .name = all, .content = {{.text = all}}, .reasoning = all, .calls = {call, broken}},
          {.role = Role::tool, .content = {{.text = all}}, .tool_call_id = all},
          {.role = Role::tool, .name = all, .content = {{.text = all}}}}};
  Conversation harmless = hostile;
  harmless.tools = {R"({"type":"a","function":{"name":"b"}})"};
  for (Message& message : harmless.messages) {
    message.content = {{.text = "a"}};
    if (!message.name.empty()) message.name = "a";
    if (!message.reasoning.empty()) message.reasoning = "a";
    if (!message.tool_call_id.empty()) message.tool_call_id = "a";
    if (!message.calls.empty())
      message.calls = {{.id = "a", .name = "a", .arguments = R"({"a":"b","b":["c"]})"},
                       {.name = "x", .arguments = "a"}};
  }
  const auto controls = [&](const Conversation& conversation) {
    Ids found;
    for (const int id : prompt_ids(conversation, without_effort()))
      if (released_kimi_k3_tokenizer().is_special(id)) found.push_back(id);
    return found;
  };
  EXPECT_EQ(controls(hostile), controls(harmless));
}

TEST(KimiK3Render, AssistantInHistory) {
  const Message turn = {
      .role = Role::assistant, .content = {{.text = "Hello! How can I help?"}}, .reasoning = "The user is here"};
  EXPECT_EQ(rendered(turn),
            R"(<|open|>message role="assistant"<|sep|><|open|>think<|sep|>The user is here)"
            "<|close|>think<|sep|><|open|>response<|sep|>Hello! How can I help?<|close|>response<|sep|>" +
                kKimiK3MessageEnd + kTail);
  const Ids ids = prompt_ids({.messages = {turn}}, without_effort());
  const Ids begin = {163587, 2778, 6244,   878,    69702,  1,      163589, 163587, 39964,  163589, 1008, 2742,
                     387,    2397, 163588, 39964,  163589, 163587, 12092,  163589, 19180,  0,      3653, 691,
                     374,    1833, 30,     163588, 12092,  163589, 163588, 2778,   163589, 163586};
  EXPECT_EQ(Ids(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(begin.size())), begin);
  // Without thinking the channel is absent; with thinking it is there even if it is empty.
  EXPECT_EQ(rendered(turn, without_effort(false)).find("think"), std::string::npos);
  EXPECT_EQ(rendered({.role = Role::assistant, .name = "Kim", .reasoning = " \n"}),
            R"(<|open|>message role="assistant" name="Kim"<|sep|><|open|>think<|sep|>)"
            " \n<|close|>think<|sep|><|open|>response<|sep|><|close|>response<|sep|>" +
                kKimiK3MessageEnd + kTail);
  EXPECT_NE(rendered(Message{.role = Role::assistant})
                .find("<|open|>think<|sep|><|close|>think<|sep|><|open|>response<|sep|><|close|>response<|sep|>"),
            std::string::npos);
}

// The text of the calls of one assistant message.
std::string calls_text(const std::vector<ToolCall>& calls) {
  const std::string whole = rendered({.role = Role::assistant, .calls = calls});
  const std::size_t begin = whole.find("<|open|>tools"), end = whole.find(kKimiK3MessageEnd);
  return whole.substr(begin, end - begin);
}
// The body of the only call.
std::string arguments_text(const std::string& arguments, bool are_object = false) {
  const std::string text = calls_text({{.name = "t", .arguments = arguments, .arguments_are_object = are_object}});
  const std::string head = R"(<|open|>tools<|sep|><|open|>call tool="t" index="1"<|sep|>)";
  const std::string tail = "<|close|>call<|sep|><|close|>tools<|sep|>";
  EXPECT_TRUE(text.starts_with(head) && text.ends_with(tail)) << text;
  return text.substr(head.size(), text.size() - head.size() - tail.size());
}
std::string argument(const std::string& key, const std::string& type, const std::string& value) {
  return "<|open|>argument key=\"" + key + "\" type=\"" + type + "\"<|sep|>" + value + "<|close|>argument<|sep|>";
}
std::string json_element(const std::string& raw) {
  return "<|open|>json type=\"object\"<|sep|>" + raw + "<|close|>json<|sep|>";
}

TEST(KimiK3Render, ToolCallAndItsResult) {
  const Message turn = {.role = Role::assistant,
                        .calls = {{.id = "c1", .name = "bash", .arguments = R"({"command": "ls -la"})"}}};
  EXPECT_EQ(calls_text(turn.calls), R"(<|open|>tools<|sep|><|open|>call tool="bash" index="1"<|sep|>)" +
                                        argument("command", "string", "ls -la") +
                                        "<|close|>call<|sep|><|close|>tools<|sep|>");
  const Message result = {.role = Role::tool, .content = {{.text = "a.txt\nb.txt\n"}}, .tool_call_id = "c1"};
  const Ids ids = prompt_ids({.messages = {turn, result}}, without_effort());
  EXPECT_TRUE(
      holds(ids, {163587, 25385,  163589, 163587, 10257,  4453,   878,   26523,  1,      4002,  878,   16,     1,
                  163589, 163587, 47185,  2355,   878,    9106,   1,     1798,   878,    2033,  1,     163589, 4925,
                  635,    7288,   163588, 47185,  163589, 163588, 10257, 163589, 163588, 25385, 163589}));
  EXPECT_TRUE(holds(ids, {163587, 2778,   6244, 878,  20960, 1,  4453, 878, 26523,  1,    4002,   878,   16,
                          1,      163589, 64,   8842, 198,   65, 8842, 198, 163588, 2778, 163589, 163586}));
}

TEST(KimiK3Render, ArgumentsSentAsAString) {
  EXPECT_EQ(
      arguments_text(R"({"s":"a\"b\n","n": 1e2,"f":1.50,"t":true,"z":null,"o":{ "k" : "v"},"a":[1, "two",false]})"),
      argument("s", "string", "a\"b\n") + argument("n", "number", "1e2") + argument("f", "number", "1.50") +
          argument("t", "boolean", "true") + argument("z", "null", "null") +
          argument("o", "object", R"({ "k" : "v"})") + argument("a", "array", R"([1, "two",false])"));
  EXPECT_EQ(arguments_text(R"({"k":1,"k":"2"})"), argument("k", "number", "1") + argument("k", "string", "2"));
  EXPECT_EQ(arguments_text(R"( {"a\"&":""} trailing)"), argument("a&quot;&amp;", "string", ""));
  EXPECT_EQ(arguments_text(""), "");
  EXPECT_EQ(arguments_text("{}"), "");
  for (const char* raw : {" ", "[1]", "\"text\"", "{\"a\":1", "not json", "{\"a\":01}"})
    EXPECT_EQ(arguments_text(raw), json_element(raw));
}

TEST(KimiK3Render, ArgumentsSentAsAnObject) {
  EXPECT_EQ(
      arguments_text(
          "{\"s\":\"\\u00e9\",\"o\":{\"k\":\"\\u00e9\"},\"a\":[1,\"two\",false],\"t\":true,\"z\":null,\"f\":1.50}",
          true),
      argument("s", "string", "\u00e9") + argument("o", "object", "{\"k\": \"\u00e9\"}") +
          argument("a", "array", R"([1, "two", false])") + argument("t", "boolean", "true") +
          argument("z", "null", "null") + argument("f", "number", "1.5"));
  EXPECT_EQ(arguments_text(R"({"k":1,"k":2})", true), argument("k", "number", "2"));
  const Error error =
      render_refusal({.messages = {{.role = Role::assistant,
                                    .calls = {{.name = "t", .arguments = "[1]", .arguments_are_object = true}}}}});
  EXPECT_EQ(error.kind, ErrorKind::bad_input);
  EXPECT_NE(error.what.find("arguments of call 1"), std::string::npos) << error.what;
}

// Results of three calls in the given order; what their messages are called and numbered.
std::string results(const std::vector<Message>& messages) {
  Conversation conversation;
  conversation.messages.push_back(
      {.role = Role::assistant,
       .calls = {{.id = "c1", .name = "one"}, {.id = "c2", .name = "two"}, {.id = "c3", .name = "three"}}});
  conversation.messages.insert(conversation.messages.end(), messages.begin(), messages.end());
  const std::string whole = rendered(conversation);
  const std::size_t begin = whole.find(kKimiK3MessageEnd) + kKimiK3MessageEnd.size();
  return whole.substr(begin, whole.size() - begin - kTail.size());
}
Message result(const std::string& text, const std::string& id, const std::string& name = "") {
  return {.role = Role::tool, .name = name, .content = {{.text = text}}, .tool_call_id = id};
}
std::string result_text(const std::string& tool, int index, const std::string& text) {
  return "<|open|>message role=\"tool\" tool=\"" + tool + "\" index=\"" + std::to_string(index) + "\"<|sep|>" + text +
         kKimiK3MessageEnd;
}

TEST(KimiK3Render, ResultsStandInTheOrderOfTheirCalls) {
  EXPECT_EQ(results({result("C", "c3"), result("A", "c1", "stale"), result("B", "c2")}),
            result_text("one", 1, "A") + result_text("two", 2, "B") + result_text("three", 3, "C"));
  EXPECT_EQ(results({result("C", "c3")}), result_text("three", 3, "C"));
  EXPECT_EQ(results({result("b", "c2"), result("B", "c2"), result("A", "c1")}),
            result_text("one", 1, "A") + result_text("two", 2, "b") + result_text("two", 2, "B"));
  // One unknown id: all stay as they came, with the names given or those of the calls in order.
  EXPECT_EQ(results({result("C", "c3"), result("A", "?", "given"), result("B", "")}),
            result_text("one", 1, "C") + result_text("given", 2, "A") + result_text("three", 3, "B"));
  // The count goes on behind another message.
  EXPECT_EQ(results({result("A", ""), says(Role::user, "wait"), result("B", "")}),
            result_text("one", 1, "A") + R"(<|open|>message role="user"<|sep|>wait)" + kKimiK3MessageEnd +
                result_text("two", 2, "B"));
  const Error error = render_refusal({.messages = {says(Role::user, "x"), result("A", "c1")}});
  EXPECT_NE(error.what.find("message 2 (tool)"), std::string::npos) << error.what;
}

const std::string kWeather =
    R"({"type":"function","function":{"name":"get_weather","description":"Get weather",)"
    R"("parameters":{"type":"object","required":["city"],"properties":{"city":{"type":"string"}}}}})";

TEST(KimiK3Render, ToolDeclaration) {
  Conversation conversation = {.tools = {kWeather}, .messages = {says(Role::user, "hi")}};
  const std::string declared =
      "<|open|>message role=\"system\" type=\"tool-declare\"<|sep|># Tools\nHere are the available tools, described in "
      "JSONSchema.\n\n```json\n"
      R"([{"function":{"description":"Get weather","name":"get_weather","parameters":{"properties":{"city":{"type":"string"}},)"
      R"("required":["city"],"type":"object"}},"type":"function"}])"
      "\n```" +
      kKimiK3MessageEnd;
  const std::string asked = R"(<|open|>message role="user"<|sep|>hi)" + kKimiK3MessageEnd + kTail;
  EXPECT_EQ(rendered(conversation), declared + asked);
  const Ids ids = prompt_ids(conversation, without_effort());
  const Ids begin = {163587, 2778, 6244, 878,  14062, 1,  1798,  878, 20960, 120083, 677,  1,    163589, 2,  30391, 198,
                     12214,  554,  276,  2878, 7697,  11, 11880, 306, 11419, 11438,  1481, 3251, 5534,   198};
  EXPECT_EQ(Ids(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(begin.size())), begin);

  // The effort follows the tools; the order of tools is kept, text that is not ASCII is raw.
  conversation.tools = {"{\"b\":1,\"a\":\"\\u4e2d\"}", "{}"};
  EXPECT_EQ(
      rendered(conversation, {.effort = "low"}),
      "<|open|>message role=\"system\" type=\"tool-declare\"<|sep|># Tools\nHere are the available tools, described "
      "in JSONSchema.\n\n```json\n[{\"a\":\"\u4e2d\",\"b\":1},{}]\n```" +
          kKimiK3MessageEnd +
          "<|open|>message role=\"system\" type=\"thinking-effort\"<|sep|>`thinking_effort` guides on how much to "
          "think in your thinking channel (not including the response channel), supported values include `low`, "
          "`medium`, `high`, and `max`.\nNow the system is invoked with `thinking_effort=low`." +
          kKimiK3MessageEnd + asked);
}

TEST(KimiK3Render, ToolsDeclaredOnTheWay) {
  EXPECT_EQ(
      rendered({.role = Role::system, .tools = {R"({"b":1,"a":2})", R"({"c":3})"}}),
      "<|open|>message role=\"system\" type=\"tool-declare\"<|sep|>## New Tools Available\nThe system dynamically "
      "extends the toolset via lazy-loading.\nYou have access to all existing and extended tools.\nHere are the "
      "specs for the extended tools.\n\n```json\n[{\"a\":2,\"b\":1},{\"c\":3}]\n```" +
          kKimiK3MessageEnd + kTail);
}

TEST(KimiK3Render, ToolChoiceAndResponseFormatFollowTheMessages) {
  const Message user = says(Role::user, "hi");
  const std::string asked = R"(<|open|>message role="user"<|sep|>hi)" + kKimiK3MessageEnd;
  const auto notice = [](const std::string& type, const std::string& body) {
    return "<|open|>message role=\"system\" type=\"" + type + "\"<|sep|>" + body + kKimiK3MessageEnd;
  };
  const std::string required = notice(
      "tool-choice", "The system is invoked with `tool_choice=required`.\nYou MUST call tools in the next message.");
  EXPECT_EQ(rendered(user, {.tool_choice = ToolChoice::required}), asked + required + kTail);
  EXPECT_EQ(rendered(user, {.tool_choice = ToolChoice::none}),
            asked +
                notice("tool-choice",
                       "The system is invoked with `tool_choice=none`.\nYou MUST NOT call any tools in "
                       "the next message.") +
                kTail);
  EXPECT_TRUE(holds(prompt_ids({.messages = {user}}, {.tool_choice = ToolChoice::required}),
                    {20960, 135230, 1,    163589, 1008, 2403, 387, 42070, 472,  1268, 20960, 79535, 28,
                     20331, 16518,  3900, 44322,  2390, 7697, 306, 276,   2897, 3996, 13,    163588}));

  const std::string raw =
      "Your response must be raw JSON data without markdown code blocks (```json) or any additional "
      "formatting.";
  ChatOptions json = {.tool_choice = ToolChoice::required,
                      .response_format = {.kind = ResponseFormat::Kind::json_object}};
  EXPECT_EQ(rendered(user, json),
            asked + required +
                notice("response-format", "The system is invoked with `response_format=json_object`.\n" + raw) + kTail);

  const auto with_schema = [&](const std::string& schema) {
    return asked +
           notice("response-format", "The system is invoked with `response_format=json_schema`.\n" + raw +
                                         "\nThe JSON data must match the following schema:\n```json\n" + schema +
                                         "\n```") +
           kTail;
  };
  const struct {
    const char *schema, *json_schema, *shown;
  } cases[] = {{R"({"b":[{"y":1,"x":2}], "a":1.0})", R"({"schema":1})", R"({"a":1.0,"b":[{"x":2,"y":1}]})"},
               {"", R"({"name":"n","schema":{"b":1,"a":2},"json_schema":3})", R"({"a":2,"b":1})"},
               {"", R"({"name":"n","json_schema":{"b":1,"a":2}})", R"({"a":2,"b":1})"},
               {"", R"({"type":"object","properties":{}})", R"({"properties":{},"type":"object"})"},
               {"", "", "null"}};
  for (const auto& [schema, json_schema, shown] : cases)
    EXPECT_EQ(rendered(user, {.response_format = {ResponseFormat::Kind::json_schema, schema, json_schema}}),
              with_schema(shown));
}

TEST(KimiK3Render, WhatTheFormatCannotSayIsRefused) {
  const Message hello = says(Role::user, "hi");
  const struct {
    Conversation conversation;
    ChatOptions options;
    ErrorKind kind;
    const char* complaint;
  } cases[] = {
      {{.messages = {hello, {.content = {{ContentPart::Kind::media, "image_url"}}}}},
       {},
       ErrorKind::unsupported,
       "message 2 (user): a part of type 'image_url'"},
      {{.messages = {hello}}, {.effort = "medium"}, ErrorKind::bad_input, "thinking effort 'medium'"},
      {{.tools = {"{}", "[]"}}, {}, ErrorKind::bad_input, "tool 2"},
      {{.tools = {"{"}}, {}, ErrorKind::bad_input, "tool 1"},
      {{.messages = {{.role = Role::system, .content = {{.text = "x"}}, .tools = {"{}"}}}},
       {},
       ErrorKind::bad_input,
       "message 1 (system)"},
      {{.messages = {{.role = Role::user, .tools = {"{}"}}}}, {}, ErrorKind::bad_input, "only a system message"},
      {{.messages = {{.role = Role::user, .calls = {{.name = "x"}}}}}, {}, ErrorKind::bad_input, "tool calls"},
      {{.messages = {{.role = Role::assistant, .calls = {{}}}}}, {}, ErrorKind::bad_input, "no name"},
      {{.messages = {{.role = Role::latest_reminder}}}, {}, ErrorKind::unsupported, "Kimi K3"},
      {{.messages = {{.task = "title"}}}, {}, ErrorKind::unsupported, "task 'title'"},
      {{.messages = {hello}},
       {.response_format = {ResponseFormat::Kind::json_schema, "{", ""}},
       ErrorKind::bad_input,
       "schema"},
  };
  for (const auto& item : cases) {
    const Error error = render_refusal(item.conversation, item.options);
    EXPECT_EQ(error.kind, item.kind) << error.what;
    EXPECT_NE(error.what.find(item.complaint), std::string::npos) << error.what;
  }
  const auto broken =
      test::must(open_chat(released_kimi_k3_tokenizer()))->render({.messages = {says(Role::user, "\xff")}}, {});
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().what.find("UTF-8"), std::string::npos);
}

TEST(KimiK3Render, RolesAreNamed) {
  EXPECT_EQ(test::must(parse_role("tool")), Role::tool);
  EXPECT_EQ(rendered({.role = test::must(parse_role("developer")), .content = {{.text = "x"}}}),
            rendered(says(Role::system, "x")));
  const auto unknown = parse_role("robot");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().what.find("'robot'"), std::string::npos);
}

TEST(KimiK3Render, StopsAtEveryEndOfTurn) {
  EXPECT_EQ(test::must(open_chat(released_kimi_k3_tokenizer()))->stop_ids(), (Ids{163586, 163585, 163593}));
}

}  // namespace
}  // namespace sluice::kimi_k3
