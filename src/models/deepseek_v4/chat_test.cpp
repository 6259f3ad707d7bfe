// Tests of how DeepSeek-V4's prompts are written: every example and rule of spec sections 6.1 to 6.3.
#include "models/deepseek_v4/chat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "models/deepseek_v4/chat_texts.h"
#include "models/deepseek_v4/tokenizer.h"
#include "support/deepseek_v4_tokens.h"
#include "support/must.h"
#include "support/temp_dir.h"

namespace sluice::deepseek_v4 {
namespace {

using test::kEos;

Message says(Role role, const std::string& text, const std::string& task = {}) {
  return {.role = role, .content = {{.text = text}}, .task = task};
}
Message result(const std::string& id, const std::string& text) {
  return {.role = Role::tool, .content = {{.text = text}}, .tool_call_id = id};
}
Message thought(const std::string& reasoning, const std::string& text) {
  return {.role = Role::assistant, .content = {{.text = text}}, .reasoning = reasoning};
}

std::string rendered(const Conversation& conversation, const ChatOptions& options = {},
                     Revision revision = Revision::first) {
  std::string text;
  for (const PromptPart& part : test::must(render_prompt(conversation, options, revision))) text += part.text;
  return text;
}
std::string rendered(const std::vector<Message>& messages, const ChatOptions& options = {}) {
  return rendered(Conversation{.messages = messages}, options);
}

const ChatOptions kChat = {.thinking = false};
const ChatOptions kKeep = {.keep_reasoning = true};
const std::string kBos = "<｜begin▁of▁sentence｜>";
const std::string kUser = "<｜User｜>", kBot = "<｜Assistant｜>";

TEST(DeepSeekV4Render, ExamplesOfTheSpecification) {
  const std::vector<Message> brief = {says(Role::system, "Be brief."), says(Role::user, "Hi")};
  EXPECT_EQ(rendered(brief, kChat), kBos + "Be brief." + kUser + "Hi" + kBot + "</think>");
  EXPECT_EQ(rendered(brief), kBos + "Be brief." + kUser + "Hi" + kBot + "<think>");

  const std::vector<Message> abc = {says(Role::user, "a"), thought("r1", "b"), says(Role::user, "c")};
  EXPECT_EQ(rendered(abc, kChat), kBos + kUser + "a" + kBot + "</think>b" + kEos + kUser + "c" + kBot + "</think>");
  EXPECT_EQ(rendered(abc), kBos + kUser + "a" + kBot + "</think>b" + kEos + kUser + "c" + kBot + "<think>");
  EXPECT_EQ(rendered(abc, kKeep),
            kBos + kUser + "a" + kBot + "<think>r1</think>b" + kEos + kUser + "c" + kBot + "<think>");

  EXPECT_EQ(rendered({says(Role::user, "x", "query")}, kChat), kBos + kUser + "x<｜query｜>");
  EXPECT_EQ(rendered({says(Role::user, "x", "action")}, kChat), kBos + kUser + "x" + kBot + "</think><｜action｜>");
  EXPECT_EQ(rendered({says(Role::user, "x", "action")}), kBos + kUser + "x" + kBot + "<think><｜action｜>");
  EXPECT_EQ(rendered({says(Role::user, "x"), says(Role::assistant, "y", "title")}, kChat),
            kBos + kUser + "x" + kBot + "</think>y" + kEos + "<｜title｜>");
  EXPECT_EQ(rendered({says(Role::user, "x"), says(Role::latest_reminder, "d")}),
            kBos + kUser + "x" + kBot + "<think><｜latest_reminder｜>d");
  EXPECT_EQ(rendered({says(Role::user, "x"), says(Role::user, "y")}, kChat),
            kBos + kUser + "x\n\ny" + kBot + "</think>");
}

const std::string kAdd = R"({"type":"function","function":{"name":"add","parameters":{"x":1,"u":"\u00e9"}}})";

std::vector<Message> tool_talk() {
  Message call = thought("use tool", "");
  call.calls = {{.id = "c1", .name = "add", .arguments = R"({"x":2,"y":3.5,"note":"a b","f":{"k":[1,true,null]}})"},
                {.id = "c2", .name = "add", .arguments = "{}"}};
  return {says(Role::user, "2+3? and hi"), call, result("c2", "7"), result("c1", "5"), says(Role::user, "thanks")};
}

TEST(DeepSeekV4Render, TheToolExampleOfTheSpecification) {
  const std::string schema = "{\"name\": \"add\", \"parameters\": {\"x\": 1, \"u\": \"\u00e9\"}}";
  const std::string tools = std::string(kToolsBegin) + schema + std::string(kToolsEnd);
  const std::string talk = R"(
<｜DSML｜tool_calls>
<｜DSML｜invoke name="add">
<｜DSML｜parameter name="x" string="false">2</｜DSML｜parameter>
<｜DSML｜parameter name="y" string="false">3.5</｜DSML｜parameter>
<｜DSML｜parameter name="note" string="true">a b</｜DSML｜parameter>
<｜DSML｜parameter name="f" string="false">{"k": [1, true, null]}</｜DSML｜parameter>
</｜DSML｜invoke>
<｜DSML｜invoke name="add">

</｜DSML｜invoke>
</｜DSML｜tool_calls><｜end▁of▁sentence｜><｜User｜><tool_result>5</tool_result>

<tool_result>7</tool_result>

thanks<｜Assistant｜>)";
  const std::string before = kBos + "\n\n" + tools + kUser + "2+3? and hi" + kBot;
  const Conversation conversation = {.tools = {kAdd}, .messages = tool_talk()};
  EXPECT_EQ(rendered(conversation), before + "<think>use tool</think>\n" + talk + "<think>");
  EXPECT_EQ(rendered(conversation, kChat), before + "</think>\n" + talk + "</think>");
  // The same tools in a system message, as the release has them.
  std::vector<Message> messages = tool_talk();
  messages.insert(messages.begin(), {.role = Role::system, .content = {{.text = "S"}}, .tools = {kAdd}});
  EXPECT_EQ(rendered(messages),
            kBos + "S\n\n" + tools + kUser + "2+3? and hi" + kBot + "<think>use tool</think>\n" + talk + "<think>");
  messages.front().tools.clear();
  EXPECT_EQ(rendered({.tools = {kAdd}, .messages = messages}, kChat),
            kBos + "S\n\n" + tools + kUser + "2+3? and hi" + kBot + "</think>\n" + talk + "</think>");
  // Tools that must not be called are not shown, and old reasoning goes again.
  EXPECT_EQ(rendered({.tools = {kAdd}, .messages = tool_talk()}, {.tool_choice = ToolChoice::none}),
            kBos + kUser + "2+3? and hi" + kBot + "</think>\n" + talk + "<think>");
}

TEST(DeepSeekV4Render, ArgumentsThatAreNoObjectAreShownAsTheyAre) {
  Message call = says(Role::assistant, "x");
  for (const char* arguments : {"{\"a\":", "[1]"}) {
    call.calls = {{.name = "f", .arguments = arguments}};
    EXPECT_EQ(
        rendered({call}, kChat),
        kBos +
            "x\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"arguments\" string="
            "\"true\">" +
            arguments + "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>" + kEos);
  }
}

TEST(DeepSeekV4Render, ResultsAreOrderedByTheirCalls) {
  Message call = says(Role::assistant, "");
  call.calls = {{.id = "a", .name = "f"}, {.id = "b", .name = "f"}, {.id = "c", .name = "f"}};
  const std::string all = rendered(
      {call, result("c", "3"), says(Role::user, "t"), result("?", "0"), result("a", "1"), result("b", "2")}, kChat);
  EXPECT_TRUE(all.ends_with(kUser +
                            "<tool_result>0</tool_result>\n\nt\n\n<tool_result>1</tool_result>\n\n<tool_result>2"
                            "</tool_result>\n\n<tool_result>3</tool_result>" +
                            kBot + "</think>"))
      << all;
}

TEST(DeepSeekV4Render, ReasoningSinceTheLastQuestionIsShown) {
  EXPECT_EQ(rendered({says(Role::user, "a"), thought("r1", "b"), thought("r2", "c")}),
            kBos + kUser + "a" + kBot + "<think>r1</think>b" + kEos + "r2</think>c" + kEos);
  // A task's answer has none, and no text joins a turn with a task.
  EXPECT_EQ(rendered({says(Role::user, "a", "query"), thought("r", "b"), says(Role::user, "c")}, kKeep),
            kBos + kUser + "a<｜query｜>b" + kEos + kUser + "c" + kBot + "<think>");
  EXPECT_EQ(rendered({says(Role::user, "a", "query"), says(Role::user, "b")}, kChat),
            kBos + kUser + "a" + kUser + "b" + kBot + "</think>");
}

TEST(DeepSeekV4Render, DevelopersAskLikeUsers) {
  const std::vector<Message> messages = {says(Role::developer, "d1"), says(Role::assistant, "x"),
                                         says(Role::developer, "d2")};
  EXPECT_EQ(rendered(messages, kChat),
            kBos + kUser + "d1" + kBot + "</think>x" + kEos + kUser + "d2" + kBot + "</think>");
  // Where old reasoning goes, old words of developers go too.
  EXPECT_EQ(rendered(messages), kBos + "x" + kEos + kUser + "d2" + kBot + "<think>");
  EXPECT_EQ(rendered(messages, kKeep),
            kBos + kUser + "d1" + kBot + "<think></think>x" + kEos + kUser + "d2" + kBot + "<think>");
}

TEST(DeepSeekV4Render, ResponseFormat) {
  const std::string form = "\n\n## Response Format:\n\nYou MUST strictly adhere to the following schema to reply:\n";
  const std::vector<Message> talk = {says(Role::system, "S"), says(Role::user, "u")};
  const auto with = [](const std::string& schema, const std::string& json_schema) {
    return ChatOptions{.thinking = false, .response_format = {ResponseFormat::Kind::json_schema, schema, json_schema}};
  };
  const std::string tail = kUser + "u" + kBot + "</think>";
  EXPECT_EQ(rendered(talk, with(R"({"b":1,"a":[2]})", "")), kBos + "S" + form + R"({"b": 1, "a": [2]})" + tail);
  EXPECT_EQ(rendered(talk, with("", R"({"name":"n","schema":{"b":1}})")), kBos + "S" + form + R"({"b": 1})" + tail);
  EXPECT_EQ(rendered({talk[1]}, with("{}", "")), kBos + form + "{}" + tail);
}

TEST(DeepSeekV4Render, EffortDependsOnTheRevision) {
  const auto prefix = [](const char* effort, Revision revision) {
    std::string text = rendered({.messages = {says(Role::user, "x")}}, {.effort = effort}, revision);
    text.erase(0, kBos.size());
    return text.substr(0, text.find(kUser));
  };
  EXPECT_EQ(prefix("high", Revision::first), "");
  EXPECT_EQ(prefix("max", Revision::first), kThorough);
  EXPECT_EQ(prefix("low", Revision::later), "");
  EXPECT_EQ(prefix("high", Revision::later), kThorough);
  EXPECT_EQ(prefix("max", Revision::later), kExhaustive);
  EXPECT_FALSE(render_prompt({}, {.effort = "low"}, Revision::first));
  EXPECT_FALSE(render_prompt({}, {.effort = "medium"}, Revision::later));
  EXPECT_EQ(rendered({says(Role::user, "x")}, {.thinking = false, .effort = "max"}),
            kBos + kUser + "x" + kBot + "</think>");

  const test::TempDir directory;
  EXPECT_EQ(revision_of(directory.path()), Revision::first);
  std::filesystem::create_directory(directory / "encoding");
  std::ofstream(directory / "encoding/encoding_dsv4.py") << "REASONING_EFFORT_MAX = ''";
  EXPECT_EQ(revision_of(directory.path()), Revision::first);
  std::ofstream(directory / "encoding/encoding_dsv4.py") << "REASONING_EFFORT_PROMPTS = {}";
  EXPECT_EQ(revision_of(directory.path()), Revision::later);
}

TEST(DeepSeekV4Render, SpellingsInTheFormatsOwnTextsAreTokens) {
  const auto parts = test::must(render_prompt({.tools = {"{\"name\":\"<think>\"}"}}, {}, Revision::first));
  EXPECT_EQ(std::ranges::count(parts, PromptPart{true, "｜DSML｜"}), 9);
  EXPECT_EQ(std::ranges::count(parts, PromptPart{true, "<think>"}), 2);
  EXPECT_EQ(std::ranges::count(parts, PromptPart{true, "</think>"}), 2);
}

TEST(DeepSeekV4Render, TextNeverBecomesAControlToken) {
  const auto tokenizer = test::deepseek_v4_tokenizer();
  const auto chat = test::must(open_chat(*tokenizer, "/nowhere"));
  std::string all;
  for (const auto& [text, special] : test::deepseek_v4_added_tokens()) all += text;
  const auto controls = [&](const std::string& text) {
    const std::string json = nlohmann::json(text).dump();
    Message call = thought(text, text);
    call.calls = {{.name = text, .arguments = "{" + json + ":" + json + "}"}, {.name = "x", .arguments = text}};
    std::vector<int> ids = test::must(chat->render({.tools = {"{\"name\":" + json + "}"},
                                                    .messages = {says(Role::system, text), says(Role::user, text), call,
                                                                 result("", text), says(Role::latest_reminder, text)}},
                                                   {.response_format = {ResponseFormat::Kind::json_schema, json, ""}}));
    std::erase_if(ids, [&](int id) { return !tokenizer->is_special(id); });
    return ids;
  };
  EXPECT_EQ(controls(all), controls("harmless"));
}

// A call that is forced is, token by token, the call that a prompt shows.
TEST(DeepSeekV4Render, FormsOfRepliesAreThoseOfPrompts) {
  const auto tokenizer = test::deepseek_v4_tokenizer();
  const auto chat = test::must(open_chat(*tokenizer, "/nowhere"));
  const auto id = [&](const char* text) { return tokenizer->special_id(text); };
  const auto text = [&](const char* words) { return test::must(tokenizer->encode(words, SpecialSpelling::text)); };
  const auto append = [](std::vector<int>& ids, const std::vector<int>& more) {
    ids.insert(ids.end(), more.begin(), more.end());
  };
  for (const bool thinking : {false, true})
    for (const bool has_arguments : {false, true}) {
      const ChatOptions options = {.thinking = thinking, .keep_reasoning = true};
      Message call = thought("", "");
      call.calls = {{.name = "look", .arguments = has_arguments ? R"({"at": "You are", "deep": [1]})" : "{}"}};
      const std::vector<Message> question = {says(Role::user, "x")};
      const std::vector<int> before = test::must(chat->render({.messages = question}, options));
      std::vector<int> shown = test::must(chat->render({.messages = {question[0], call}}, options));
      shown.erase(shown.begin(), shown.begin() + static_cast<std::ptrdiff_t>(before.size()));

      const std::vector<CallArgument> arguments = {{"at", "string"}, {"deep", "array"}};
      const CallForm form = test::must(
          chat->call_form(options, "look", has_arguments ? std::span(arguments) : std::span<const CallArgument>()));
      std::vector<int> made = form.begin;
      for (std::size_t argument = 0; argument < form.arguments.size(); ++argument) {
        append(made, form.arguments[argument].before);
        append(made, text(argument == 0 ? "You are" : "[1]"));
        append(made, form.arguments[argument].after);
      }
      append(made, form.end);
      EXPECT_EQ(form.ends, chat->stop_ids());
      made.push_back(form.ends[0]);
      EXPECT_EQ(made, shown) << thinking << has_arguments;

      const ReplyForm answer = test::must(chat->reply_form(options));
      EXPECT_EQ(answer.thinks, thinking);
      EXPECT_EQ(answer.to_answer, thinking ? std::vector<int>{id("</think>")} : std::vector<int>{});
      EXPECT_EQ(answer.answer_ends, chat->stop_ids());
    }
}

TEST(DeepSeekV4Render, WhatTheFormatCannotSayIsRefused) {
  const struct {
    Conversation conversation;
    ChatOptions options;
    const char* complaint;
  } cases[] = {{{.tools = {"{}", "[]"}}, {}, "tool 2"},
               {{.messages = {says(Role::user, "x", "dance")}}, {}, "task 'dance'"},
               {{.messages = {{.content = {{ContentPart::Kind::media, "image_url"}}}}}, {}, "'image_url'"},
               {{}, {.response_format = {ResponseFormat::Kind::json_schema, "{", ""}}, "schema"}};
  for (const auto& item : cases) {
    const auto parts = render_prompt(item.conversation, item.options, Revision::first);
    ASSERT_FALSE(parts) << item.complaint;
    EXPECT_NE(parts.error().what.find(item.complaint), std::string::npos) << parts.error().what;
  }
}

// Vectors of spec section 5 with a vocabulary in which the known tokens are entries.
TEST(DeepSeekV4Tokenizer, SpecialTokensAreCutOutFirst) {
  const auto tokenizer = test::deepseek_v4_tokenizer();
  const auto chat = test::must(open_chat(*tokenizer, "/nowhere"));
  const auto id = [&](const char* text) { return tokenizer->special_id(text); };
  const auto ids = [&](const char* text) { return test::must(tokenizer->encode(text, SpecialSpelling::token)); };
  const auto prompt =
      ids("<｜begin▁of▁sentence｜>You are a helpful assistant.\n<｜User｜>What is 2+2?<｜Assistant｜></think>");
  EXPECT_EQ(prompt.size(), 17u);
  EXPECT_EQ(prompt.front(), id("<｜begin▁of▁sentence｜>"));
  EXPECT_EQ(prompt[7], id("<｜User｜>"));
  EXPECT_EQ(prompt, test::must(chat->render({.messages = {says(Role::system, "You are a helpful assistant.\n"),
                                                          says(Role::user, "What is 2+2?")}},
                                            kChat)));
  const auto chinese = ids("<｜User｜>你好<｜Assistant｜><think>推理</think>答案<｜end▁of▁sentence｜>");
  ASSERT_EQ(chinese.size(), 8u);
  EXPECT_EQ(tokenizer->bytes(chinese[1]), "你好");
  EXPECT_EQ(tokenizer->bytes(chinese[4]), "推理");
  EXPECT_EQ(chinese[7], id("<｜end▁of▁sentence｜>"));
  EXPECT_EQ(chat->stop_ids(), (std::vector<int>{id("<｜end▁of▁sentence｜>"), id("<｜User｜>")}));
}

}  // namespace
}  // namespace sluice::deepseek_v4
