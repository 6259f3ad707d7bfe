// Tests of how GLM-5.2's replies are read: every cut, every truncation, and what models do wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "models/glm_dsa/chat.h"
#include "models/glm_dsa/tokenizer.h"
#include "support/must.h"
#include "support/reply_events.h"
#include "support/temp_dir.h"
#include "support/tokenizer_json.h"
#include "text/json_text.h"
#include "text/utf8.h"

namespace sluice::glm_dsa {
namespace {

using Ids = std::vector<int>;
using Events = std::vector<ReplyEvent>;
using Kind = ReplyEvent::Kind;
using test::argument, test::call_begin, test::call_end, test::content, test::reasoning, test::turn_end;

const Tokenizer& tokenizer() {
  static const std::unique_ptr<Tokenizer> opened = [] {
    const test::TokenizerJson file = {.whole = {"th", "in", "think", "\xe4\xbd", "a\xc3"},
                                      .added = test::glm_added_tokens(),
                                      .splits = {test::kGlmSplit},
                                      .ignore_merges = true};
    const test::TempDir directory;
    file.write(directory.path());
    return test::must(open_tokenizer(directory.path(), file.tokens() + 3));
  }();
  return *opened;
}
const ChatFormat& chat() {
  static const std::unique_ptr<ChatFormat> opened = test::must(open_chat(tokenizer(), "/nowhere"));
  return *opened;
}
const Conversation kKnownTools = {
    .tools = {R"({"type":"function","function":{"name":"find","parameters":{"properties":{"q":{"type":"string"},)"
              R"("n":{"type":"integer"},"m":{"type":["string","null"]}}}}})",
              R"({"name":"bare","parameters":{"properties":{"q":{"type":["string"]}}}})", "[]", "{\"name\":3}"}};

Ids ids_of(std::string_view reply) { return test::must(tokenizer().encode(reply, SpecialSpelling::token)); }
Events parse(const Ids& ids, bool thinking = true) {
  Events events;
  const auto parser = chat().reply_parser(kKnownTools, {.thinking = thinking});
  parser->push(ids, events);
  parser->finish(events);
  return events;
}
Events parse(std::string_view reply, bool thinking = true) { return parse(ids_of(reply), thinking); }

const std::string kWhole =
    "I think\u4f60</think>On it: \U0001f44b<tool_call>find<arg_key>q</arg_key><arg_value>12</arg_value>\n"
    "<arg_key>n</arg_key>\n<arg_value>12</arg_value></tool_call>\n<tool_call>other</tool_call><|observation|>";
const Events kWholeEvents = {reasoning("I think\u4f60"),
                             content("On it: \U0001f44b"),
                             call_begin(0, "find"),
                             argument(0, "q", "\"12\""),
                             argument(0, "n", "12"),
                             call_end(0, R"({"q": "12", "n": 12})"),
                             call_begin(1, "other"),
                             call_end(1, "{}"),
                             turn_end()};

TEST(GlmParse, AWholeReply) {
  EXPECT_EQ(parse(kWhole), kWholeEvents);
  EXPECT_EQ(parse("Hello<|user|>", false), (Events{content("Hello"), turn_end()}));
  EXPECT_EQ(parse("why</think>so<|endoftext|>"), (Events{reasoning("why"), content("so"), turn_end()}));
  EXPECT_EQ(parse("</think><|user|>"), Events{turn_end()});
  // A call directly behind the reasoning.
  EXPECT_EQ(parse("r</think>\n<tool_call>f</tool_call><|observation|>"),
            (Events{reasoning("r"), call_begin(0, "f"), call_end(0, "{}"), turn_end()}));
}

TEST(GlmParse, HowTokensArriveChangesNothing) {
  const Ids ids = ids_of(kWhole);
  for (std::size_t first = 0; first <= ids.size(); ++first)
    for (std::size_t second = first; second <= ids.size(); ++second) {
      Events events;
      const auto parser = chat().reply_parser(kKnownTools, {});
      parser->push(std::span(ids).first(first), events);
      parser->push(std::span(ids).subspan(first, second - first), events);
      parser->push(std::span(ids).subspan(second), events);
      ASSERT_EQ(events, kWholeEvents) << first << " " << second;
    }
}

TEST(GlmParse, ATruncatedReplyDeliversWhatIsThere) {
  const Ids ids = ids_of(kWhole);
  for (std::size_t size = 0; size < ids.size(); ++size) {
    const Events events = parse(Ids(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(size)));
    ASSERT_FALSE(events.empty());
    EXPECT_EQ(events.back(), turn_end(false));
    int begun = 0;
    for (const ReplyEvent& event : events) {
      begun += event.kind == Kind::call_begin ? 1 : event.kind == Kind::call_end ? -1 : 0;
      EXPECT_TRUE(event.kind != Kind::call_end || is_json(event.text)) << event.text;
      EXPECT_TRUE(event.kind != Kind::call_end || !event.complete || event == kWholeEvents[5] ||
                  event == kWholeEvents[7]);
    }
    EXPECT_EQ(begun, 0) << size;
  }
  EXPECT_EQ(parse("</think><tool_call>find<arg_key>n</arg_key><arg_value>{\"a"),
            (Events{call_begin(0, "find"), argument(0, "n", R"("{\"a")"), call_end(0, R"({"n": "{\"a"})", false),
                    turn_end(false)}));
}

TEST(GlmParse, TextIsShownAtOnce) {
  const auto parser = chat().reply_parser({}, {});
  Events events;
  parser->push(ids_of("a\u4f60"), events);
  EXPECT_EQ(events, Events{reasoning("a\u4f60")});
  events.clear();
  parser->push(ids_of("</think>"), events);
  EXPECT_TRUE(events.empty());
  parser->push(ids_of("\n\n"), events);
  EXPECT_TRUE(events.empty());  // nothing if a call follows
  parser->push(ids_of("x"), events);
  EXPECT_EQ(events, Events{content("\n\nx")});
  events.clear();
  parser->push(ids_of("<tool_call>fin"), events);
  EXPECT_TRUE(events.empty());
  parser->push(ids_of("d<arg_key>"), events);
  EXPECT_EQ(events, Events{call_begin(0, "find")});
}

std::string arguments_of(const std::string& body, const std::string& tool = "find") {
  const Events events = parse("</think><tool_call>" + tool + body + "</tool_call><|observation|>");
  EXPECT_EQ(events.front(), call_begin(0, tool));
  EXPECT_EQ(events.back(), turn_end());
  std::string joined;
  for (const ReplyEvent& event : events)
    if (event.kind == Kind::argument)
      joined += (joined.empty() ? "" : ", ") + json_string(event.key) + ": " + event.text;
  EXPECT_EQ(events[events.size() - 2], call_end(0, "{" + joined + "}"));
  return events[events.size() - 2].text;
}
std::string pair(const std::string& key, const std::string& value) {
  return "<arg_key>" + key + "</arg_key><arg_value>" + value + "</arg_value>";
}

TEST(GlmParse, ValuesAreStringsByTheSchemaOrJsonOrRaw) {
  EXPECT_EQ(arguments_of(pair("q", "1e2")), R"({"q": "1e2"})");
  EXPECT_EQ(arguments_of(pair("q", " \"x\"\n")), R"({"q": " \"x\"\n"})");
  EXPECT_EQ(arguments_of(pair("q", "")), R"({"q": ""})");
  EXPECT_EQ(arguments_of(pair("n", "\n1e2 ")), R"({"n": 1e2})");
  EXPECT_EQ(arguments_of(pair("n", "many")), R"({"n": "many"})");
  EXPECT_EQ(arguments_of(pair("n", "")), R"({"n": ""})");
  EXPECT_EQ(arguments_of(pair("m", "null")), R"({"m": null})");
  EXPECT_EQ(arguments_of(pair("x", R"({"a": [1]})")), R"({"x": {"a": [1]}})");
  EXPECT_EQ(arguments_of(pair("q", "5"), "bare"), R"({"q": "5"})");
  EXPECT_EQ(arguments_of(pair("q", "5"), "unknown"), R"({"q": 5})");
  EXPECT_EQ(arguments_of(pair(" q\n", "5")), R"({"q": "5"})");
  // Other control tokens in a value are its text.
  EXPECT_EQ(arguments_of(pair("q", "<think><arg_key></tool_response><|begin_of_box|>")),
            R"({"q": "<think><arg_key></tool_response><|begin_of_box|>"})");
}

TEST(GlmParse, WhatModelsForget) {
  // The close of a value, of a key; a value; a key.
  EXPECT_EQ(arguments_of("<arg_key>n</arg_key><arg_value>1"), R"({"n": 1})");
  EXPECT_EQ(arguments_of("<arg_key>n<arg_value>1</arg_value>"), R"({"n": 1})");
  EXPECT_EQ(arguments_of("<arg_key>n</arg_key>" + pair("q", "x")), R"({"n": "", "q": "x"})");
  EXPECT_EQ(arguments_of("<arg_value>1</arg_value>"), R"({"": 1})");
  EXPECT_EQ(arguments_of("\n" + pair("n", "1") + "\n</arg_key>\n"), R"({"n": 1})");
  // The close of a call.
  EXPECT_EQ(parse("</think><tool_call>f<tool_call>g</tool_call><|observation|>"),
            (Events{call_begin(0, "f"), call_end(0, "{}"), call_begin(1, "g"), call_end(1, "{}"), turn_end()}));
  EXPECT_EQ(parse("</think><tool_call>f<|observation|>"),
            (Events{call_begin(0, "f"), call_end(0, "{}", false), turn_end()}));
  // The close of the reasoning.
  EXPECT_EQ(parse("why<tool_call>f</tool_call><|observation|>"),
            (Events{reasoning("why"), call_begin(0, "f"), call_end(0, "{}"), turn_end()}));
  // To stop thinking where it was not asked to.
  EXPECT_EQ(parse("</think>so<|user|>", false), (Events{content("so"), turn_end()}));
  EXPECT_EQ(parse("<think>why</think>so<|user|>", false), (Events{reasoning("why"), content("so"), turn_end()}));
  // Text between tags is not lost.
  EXPECT_EQ(parse("</think><tool_call>f" + pair("n", "1") + "oops</tool_call>more<|user|>"),
            (Events{call_begin(0, "f"), argument(0, "n", "1"), content("oops"), call_end(0, R"({"n": 1})"),
                    content("more"), turn_end()}));
}

TEST(GlmParse, StrayTokensAreTextIfReadersSeeThem) {
  EXPECT_EQ(parse("a</arg_key>b[MASK]c</think>d<tool_response></think>e<|video|><|user|>"),
            (Events{reasoning("a</arg_key>bc"), content("d<tool_response></think>e<|video|>"), turn_end()}));
  const std::string text = "</think><tool_call>f</tool_call><|user|>";
  Ids ids = test::must(tokenizer().encode(text, SpecialSpelling::text));
  EXPECT_EQ(parse(ids), (Events{reasoning(text), turn_end(false)}));
  ids = {tokenizer().vocab_size() - 1};  // a row without a token
  EXPECT_EQ(parse(ids), Events{turn_end(false)});
}

TEST(GlmParse, EveryEndOfTurnEndsIt) {
  for (const char* end : {"<|endoftext|>", "<|user|>", "<|observation|>", "<|system|>", "<|assistant|>"})
    EXPECT_EQ(parse(std::string("</think>a") + end + "more" + kWhole), (Events{content("a"), turn_end()})) << end;
}

// A reply that was parsed and is rendered as history gives the same tokens: the prefix of the next prompt is unchanged.
TEST(GlmParse, RenderedHistoryIsReadBack) {
  std::mt19937 random(43);
  const auto any_text = [&] {
    static const std::vector<std::string> words = {"a",  " ",      "\n",         "think", "\"",
                                                   "\\", "\u4f60", "\U0001f44b", "{",     "\t"};
    std::string text;
    for (auto left = random() % 6; left > 0; --left) text += words[random() % words.size()];
    return text;
  };
  const Ids prefix = test::must(chat().render({}, {}));
  for (int round = 0; round < 500; ++round) {
    Message turn = {.role = Role::assistant, .content = {{.text = "x" + any_text() + "y"}}, .reasoning = any_text()};
    Events expected;
    if (!turn.reasoning.empty()) expected.push_back(reasoning(turn.reasoning));
    expected.push_back(content(turn.content[0].text));
    for (int call = 0; call < static_cast<int>(random() % 3); ++call) {
      const std::string q = json_string(any_text()), arguments = "{\"q\": " + q + ", \"x\": [1, true]}";
      turn.calls.push_back({.name = "find", .arguments = arguments});
      expected.push_back(call_begin(call, "find"));
      expected.push_back(argument(call, "q", q));
      expected.push_back(argument(call, "x", "[1, true]"));
      expected.push_back(call_end(call, arguments));
    }
    expected.push_back(turn_end());
    const Ids prompt =
        test::must(chat().render({.messages = {turn, {.content = {{.text = "next"}}}}}, {.keep_reasoning = true}));
    ASSERT_TRUE(std::equal(prefix.begin(), prefix.end(), prompt.begin()));
    ASSERT_EQ(parse(Ids(prompt.begin() + static_cast<std::ptrdiff_t>(prefix.size()), prompt.end())), expected);
  }
}

TEST(GlmParse, AnythingAtAll) {
  std::mt19937 random(47);
  const int first_special = tokenizer().special_id("<|endoftext|>");
  for (int round = 0; round < 3000; ++round) {
    Ids ids;
    for (auto left = random() % 60; left > 0; --left)
      ids.push_back(random() % 3 == 0 ? static_cast<int>(random() % static_cast<unsigned>(tokenizer().vocab_size()))
                                      : first_special + 21 + static_cast<int>(random() % 11));
    const Events events = parse(ids, round % 2 == 0);
    Events in_parts;
    const auto parser = chat().reply_parser(kKnownTools, {.thinking = round % 2 == 0});
    for (const int id : ids) parser->push(std::span(&id, 1), in_parts);
    parser->finish(in_parts);
    ASSERT_EQ(events, in_parts);
    int depth = 0;
    for (const ReplyEvent& event : events) {
      depth += event.kind == Kind::call_begin ? 1 : event.kind == Kind::call_end ? -1 : 0;
      ASSERT_TRUE(depth == 0 || depth == 1);
      EXPECT_EQ(find_invalid_utf8(event.text), std::string::npos);
      EXPECT_TRUE(event.kind != Kind::call_end || is_json(event.text));
    }
    EXPECT_EQ(depth, 0);
  }
}

}  // namespace
}  // namespace sluice::glm_dsa
