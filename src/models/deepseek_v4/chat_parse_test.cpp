// Tests of how DeepSeek-V4's replies are read: every cut, every truncation, and what models do wrong.
#include <gtest/gtest.h>

#include <random>

#include "models/deepseek_v4/chat.h"
#include "support/deepseek_v4_tokens.h"
#include "support/must.h"
#include "support/reply_events.h"
#include "text/json_text.h"
#include "text/utf8.h"

namespace sluice::deepseek_v4 {
namespace {

using Ids = std::vector<int>;
using Events = std::vector<ReplyEvent>;
using Kind = ReplyEvent::Kind;
using test::argument, test::call_begin, test::call_end, test::content, test::reasoning, test::turn_end;
using test::kEos;

const Tokenizer& tokenizer() {
  static const std::unique_ptr<Tokenizer> opened = test::deepseek_v4_tokenizer();
  return *opened;
}
const ChatFormat& chat() {
  static const std::unique_ptr<ChatFormat> opened = test::must(open_chat(tokenizer(), "/nowhere"));
  return *opened;
}
Ids ids_of(std::string_view reply) { return test::must(tokenizer().encode(reply, SpecialSpelling::token)); }
Events parse(const Ids& ids, bool thinking = true) {
  Events events;
  const auto parser = chat().reply_parser({}, {.thinking = thinking});
  parser->push(ids, events);
  parser->finish(events);
  return events;
}
Events parse(std::string_view reply, bool thinking = true) { return parse(ids_of(reply), thinking); }

const std::string kBegin = "\n\n<｜DSML｜tool_calls>\n", kEnd = "</｜DSML｜tool_calls>" + kEos;
const std::string kInvoke = "<｜DSML｜invoke name=\"f\">\n", kInvokeEnd = "\n</｜DSML｜invoke>\n";
std::string parameter(const std::string& key, const std::string& is_string, const std::string& value) {
  return "<｜DSML｜parameter name=\"" + key + "\" string=\"" + is_string + "\">" + value + "</｜DSML｜parameter>";
}

const std::string kWhole = "use \u4f60</think>On it: \U0001f44b < \n\n<b>" + kBegin +
                           "<｜DSML｜invoke name=\"add\">\n" + parameter("x", "false", "2") + "\n" +
                           parameter("note", "true", "a > \"b\"\n</x>") + kInvokeEnd +
                           "<｜DSML｜invoke name=\"add\">\n" + kInvokeEnd + kEnd;
const Events kWholeEvents = {reasoning("use \u4f60"),
                             content("On it: \U0001f44b < \n\n<b>"),
                             call_begin(0, "add"),
                             argument(0, "x", "2"),
                             argument(0, "note", R"("a > \"b\"\n</x>")"),
                             call_end(0, R"({"x": 2, "note": "a > \"b\"\n</x>"})"),
                             call_begin(1, "add"),
                             call_end(1, "{}"),
                             turn_end()};

TEST(DeepSeekV4Parse, AWholeReply) {
  EXPECT_EQ(parse(kWhole), kWholeEvents);
  EXPECT_EQ(parse("Hello" + kEos, false), (Events{content("Hello"), turn_end()}));
  EXPECT_EQ(parse("why</think>so\n\n" + kEos), (Events{reasoning("why"), content("so\n\n"), turn_end()}));
  EXPECT_EQ(parse("r</think>" + kBegin + kInvoke + kInvokeEnd + kEnd),
            (Events{reasoning("r"), call_begin(0, "f"), call_end(0, "{}"), turn_end()}));
  EXPECT_EQ(parse("</think>" + kEos), Events{turn_end()});
}

TEST(DeepSeekV4Parse, HowTokensArriveChangesNothing) {
  const Ids ids = ids_of(kWhole);
  for (std::size_t first = 0; first <= ids.size(); ++first)
    for (std::size_t second = first; second <= ids.size(); second += 1 + second % 3) {
      Events events;
      const auto parser = chat().reply_parser({}, {});
      parser->push(std::span(ids).first(first), events);
      parser->push(std::span(ids).subspan(first, second - first), events);
      parser->push(std::span(ids).subspan(second), events);
      ASSERT_EQ(events, kWholeEvents) << first << " " << second;
    }
}

// What text becomes which tokens changes nothing either: single bytes give the same events.
TEST(DeepSeekV4Parse, HowTextIsTokenizedChangesNothing) {
  Ids bytes;
  for (const int id : ids_of(kWhole)) {
    if (tokenizer().is_special(id)) {
      bytes.push_back(id);
      continue;
    }
    for (const char letter : tokenizer().bytes(id))
      for (int byte = 0; byte < 256; ++byte)
        if (tokenizer().bytes(byte) == std::string(1, letter)) bytes.push_back(byte);
  }
  ASSERT_GT(bytes.size(), ids_of(kWhole).size());
  EXPECT_EQ(parse(bytes), kWholeEvents);
}

TEST(DeepSeekV4Parse, ATruncatedReplyDeliversWhatIsThere) {
  const Ids ids = ids_of(kWhole);
  for (std::size_t size = 0; size < ids.size(); ++size) {
    const Events events = parse(Ids(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(size)));
    ASSERT_FALSE(events.empty());
    EXPECT_EQ(events.back().kind, Kind::turn_end);
    EXPECT_FALSE(events.back().complete);
    int begun = 0;
    for (const ReplyEvent& event : events) {
      begun += event.kind == Kind::call_begin ? 1 : event.kind == Kind::call_end ? -1 : 0;
      EXPECT_EQ(event.text.find("DSML"), std::string::npos) << event.text;
      EXPECT_TRUE(event.kind != Kind::call_end || !event.complete || event == kWholeEvents[5] ||
                  event == kWholeEvents[7]);
    }
    EXPECT_EQ(begun, 0) << size;
  }
  EXPECT_EQ(
      parse("</think>" + kBegin + kInvoke + "<｜DSML｜parameter name=\"k\" string=\"true\">ab</｜DSML｜par"),
      (Events{call_begin(0, "f"), argument(0, "k", "\"ab\""), call_end(0, R"({"k": "ab"})", false), turn_end(false)}));
}

TEST(DeepSeekV4Parse, OnlyWhatMayBecomeATagIsHeldBack) {
  const auto parser = chat().reply_parser({}, {});
  Events events;
  parser->push(ids_of("</think>a\u4f60"), events);
  EXPECT_EQ(events, Events{content("a\u4f60")});
  events.clear();
  parser->push(ids_of("\n\n<"), events);
  EXPECT_TRUE(events.empty());
  parser->push(ids_of("b"), events);
  EXPECT_EQ(events, Events{content("\n\n<b")});
  events.clear();
  parser->push(ids_of("\n\n\n<｜DSML｜tool_ca"), events);
  EXPECT_EQ(events, Events{content("\n")});
  events.clear();
  parser->push(ids_of("lls>\n<｜DSML｜invoke name=\"f\""), events);
  EXPECT_TRUE(events.empty());
  parser->push(ids_of(">"), events);
  EXPECT_EQ(events, Events{call_begin(0, "f")});
}

std::string arguments_of(const std::string& body) {
  const Events events = parse("</think>" + kBegin + kInvoke + body + kInvokeEnd + kEnd);
  EXPECT_EQ(events.front(), call_begin(0, "f"));
  EXPECT_EQ(events.back(), turn_end());
  return events[events.size() - 2].text;
}

TEST(DeepSeekV4Parse, ValuesAreStringsOrJson) {
  EXPECT_EQ(arguments_of(parameter("k", "true", "1")), R"({"k": "1"})");
  EXPECT_EQ(arguments_of(parameter("k", "true", "")), R"({"k": ""})");
  EXPECT_EQ(arguments_of(parameter("k", "false", "1e2")), R"({"k": 1e2})");
  EXPECT_EQ(arguments_of(parameter("k", "false", R"({"a": [1]})")), R"({"k": {"a": [1]}})");
  EXPECT_EQ(arguments_of(parameter("k", "false", "many")), R"({"k": "many"})");
  EXPECT_EQ(arguments_of(parameter("a>b", "true", "<｜DSML｜invoke name=\"x\">")),
            R"({"a>b": "<｜DSML｜invoke name=\"x\">"})");
  EXPECT_EQ(arguments_of(parameter("k", "true", "<think></think>")), R"({"k": "<think></think>"})");
  EXPECT_EQ(arguments_of("<｜DSML｜parameter name=\"k\">5</｜DSML｜parameter>"), R"({"k": 5})");
}

TEST(DeepSeekV4Parse, WhatModelsDoWrong) {
  const std::string call = kInvoke + kInvokeEnd;
  const Events one = {reasoning("why"), call_begin(0, "f"), call_end(0, "{}"), turn_end()};
  EXPECT_EQ(parse("why" + kBegin + call + kEnd), one);  // reasoning that does not end
  EXPECT_EQ(parse("why</think><｜DSML｜tool_calls>" + call + kEnd), one);
  EXPECT_EQ(parse("<think>why</think>" + kBegin + call + kEnd), one);
  EXPECT_EQ(parse("<think>why</think>" + kBegin + call + kEnd, false), one);
  EXPECT_EQ(parse("</think>so" + kEos, false), (Events{content("so"), turn_end()}));
  EXPECT_EQ(parse("why</think>" + kBegin + kInvoke + kEnd), one);  // a call that does not end
  EXPECT_EQ(parse("why</think>" + kBegin + "<｜DSML｜tool_calls>\n" + call + "\n" + kEnd), one);
  EXPECT_EQ(parse("</think>" + kBegin + kInvoke + kInvoke + kInvokeEnd + kEnd),
            (Events{call_begin(0, "f"), call_end(0, "{}"), call_begin(1, "f"), call_end(1, "{}"), turn_end()}));
  // Text inside and behind the calls is not lost.
  EXPECT_EQ(parse("</think>" + kBegin + "oops" + call + "</｜DSML｜tool_calls>\nmore" + kEos),
            (Events{content("oops"), call_begin(0, "f"), call_end(0, "{}"), content("\nmore"), turn_end()}));
  // A mark out of place.
  EXPECT_EQ(parse("a｜DSML｜b</think>c<｜DSML｜d\n\n<｜DSML｜" + kEos),
            (Events{reasoning("a｜DSML｜b"), content("c<｜DSML｜d\n\n"), turn_end()}));
  EXPECT_EQ(parse("a<|EOT|><｜▁pad▁｜></think>b</think><｜Assistant｜>" + kEos),
            (Events{reasoning("a<|EOT|>"), content("b</think><｜Assistant｜>"), turn_end()}));
  EXPECT_EQ(parse("a<｜User｜>b"), (Events{reasoning("a"), turn_end()}));
}

TEST(DeepSeekV4Parse, TextThatLooksLikeStructureIsText) {
  const std::string text = "</think>\n\n<｜DSML｜tool_calls>" + kEos + "x";
  const Ids ids = test::must(tokenizer().encode(text, SpecialSpelling::text));
  EXPECT_EQ(parse(ids), (Events{reasoning(text), turn_end(false)}));
  const int ff = [] {
    for (int byte = 0; byte < 256; ++byte)
      if (tokenizer().bytes(byte) == "\xff") return byte;
    return -1;
  }();
  EXPECT_EQ(parse(Ids{ff}), (Events{reasoning("\ufffd"), turn_end(false)}));
}

TEST(DeepSeekV4Parse, ATaskIsAnsweredWithoutReasoning) {
  Events events;
  const auto parser = chat().reply_parser({.messages = {{.task = "title"}}}, {});
  parser->push(ids_of("T" + kEos), events);
  EXPECT_EQ(events, (Events{content("T"), turn_end()}));
}

// A reply that was parsed and is rendered as history gives the same tokens: the prefix of the next prompt is unchanged.
TEST(DeepSeekV4Parse, RenderedHistoryIsReadBack) {
  std::mt19937 random(43);
  const auto any_text = [&] {
    static const std::vector<std::string> words = {"a", " ",      "\n",         "<", "</", "\"",
                                                   ">", "\u4f60", "\U0001f44b", "{", "\t"};
    std::string text;
    for (auto left = random() % 6; left > 0; --left) text += words[random() % words.size()];
    return text;
  };
  const Message question = {.content = {{.text = "q"}}};
  const Ids prefix = test::must(chat().render({.messages = {question}}, {}));
  for (int round = 0; round < 500; ++round) {
    Message turn = {.role = Role::assistant, .content = {{.text = any_text() + "y"}}, .reasoning = any_text()};
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
    const Ids prompt = test::must(chat().render({.messages = {question, turn}}, {}));
    ASSERT_TRUE(std::equal(prefix.begin(), prefix.end(), prompt.begin()));
    ASSERT_EQ(parse(Ids(prompt.begin() + static_cast<std::ptrdiff_t>(prefix.size()), prompt.end())), expected);
  }
}

TEST(DeepSeekV4Parse, AnythingAtAll) {
  std::mt19937 random(47);
  const std::vector<std::string> words = {"<",
                                          "</",
                                          ">",
                                          "\n",
                                          "\n\n<",
                                          "\">",
                                          "tool_calls>",
                                          "invoke name=\"f\">",
                                          "parameter name=\"k\" string=\"false\">",
                                          "parameter",
                                          "invoke>",
                                          "x",
                                          "1"};
  for (int round = 0; round < 3000; ++round) {
    Ids ids;
    for (auto left = random() % 60; left > 0; --left) {
      const auto kind = random() % 4;
      if (kind == 0) {
        ids.push_back(static_cast<int>(random() % static_cast<unsigned>(tokenizer().vocab_size())));
      } else if (kind == 1) {
        ids.push_back(tokenizer().special_id("｜DSML｜"));
      } else {
        const Ids word = ids_of(words[random() % words.size()]);
        ids.insert(ids.end(), word.begin(), word.end());
      }
    }
    const Events events = parse(ids, round % 2 == 0);
    Events in_parts;
    const auto parser = chat().reply_parser({}, {.thinking = round % 2 == 0});
    for (const int id : ids) parser->push(std::span(&id, 1), in_parts);
    parser->finish(in_parts);
    ASSERT_EQ(events, in_parts);
    int depth = 0;
    for (const ReplyEvent& event : events) {
      depth += event.kind == Kind::call_begin ? 1 : event.kind == Kind::call_end ? -1 : 0;
      ASSERT_TRUE(depth == 0 || depth == 1);
      EXPECT_EQ(find_invalid_utf8(event.text), std::string::npos);
      EXPECT_TRUE(event.kind != Kind::call_end || is_json(event.text)) << event.text;
    }
    EXPECT_EQ(depth, 0);
  }
}

}  // namespace
}  // namespace sluice::deepseek_v4
