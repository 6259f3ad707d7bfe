// Tests of how Kimi K3's replies are read: every cut, every truncation, and what models do wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "models/kimi_k3/chat.h"
#include "models/kimi_k3/tokenizer.h"
#include "support/kimi_k3_tokens.h"
#include "support/must.h"
#include "support/reply_events.h"
#include "support/temp_dir.h"
#include "support/tiktoken_model.h"
#include "text/json_text.h"
#include "text/utf8.h"

namespace sluice::kimi_k3 {
namespace {

using Ids = std::vector<int>;
using Events = std::vector<ReplyEvent>;
using Kind = ReplyEvent::Kind;
using test::argument, test::call_begin, test::call_end, test::content, test::reasoning, test::turn_end;
using test::kKimiK3MessageEnd;

// Single bytes and a few longer entries, so that some tokens hold half a character or several letters.
const Tokenizer& tokenizer() {
  static const std::unique_ptr<Tokenizer> opened = [] {
    std::vector<std::string> entries = test::single_bytes();
    for (const char* entry : {"th", "in", "think", " too", "\xe4\xbd", "a\xc3"}) entries.emplace_back(entry);
    return test::kimi_k3_tokenizer(entries);
  }();
  return *opened;
}
const ChatFormat& chat() {
  static const std::unique_ptr<ChatFormat> opened = test::must(open_chat(tokenizer()));
  return *opened;
}

// Control tokens are written by their spelling.
Ids ids_of(std::string_view reply) { return test::must(tokenizer().encode(reply, SpecialSpelling::token)); }

Events parse(const Ids& ids, bool thinking = true, bool finish = true) {
  Events events;
  const auto parser = chat().reply_parser({}, {.thinking = thinking});
  parser->push(ids, events);
  if (finish) parser->finish(events);
  return events;
}
Events parse(std::string_view reply, bool thinking = true) { return parse(ids_of(reply), thinking); }

const std::string kToResponse = "<|close|>think<|sep|><|open|>response<|sep|>";
const std::string kToTools = "<|close|>response<|sep|><|open|>tools<|sep|>";

const std::string kWhole =
    "I think\u4f60\u597d" + kToResponse + "On it: \U0001f44b" + kToTools +
    R"(<|open|>call tool="bash" index="1"<|sep|><|open|>argument key="command" type="string"<|sep|>ls -la
<|close|>argument<|sep|><|open|>argument key="timeout" type="number"<|sep|>1e1<|close|>argument<|sep|><|close|>call<|sep|>)"
    R"(<|open|>call tool="a&amp;quot;b&quot;" index="1"<|sep|><|close|>call<|sep|><|close|>tools<|sep|>)" +
    kKimiK3MessageEnd;
const Events kWholeEvents = {reasoning("I think\u4f60\u597d"),
                             content("On it: \U0001f44b"),
                             call_begin(0, "bash"),
                             argument(0, "command", R"("ls -la\n")"),
                             argument(0, "timeout", "1e1"),
                             call_end(0, R"({"command": "ls -la\n", "timeout": 1e1})"),
                             call_begin(1, "a&quot;b\""),
                             call_end(1, "{}"),
                             turn_end()};

TEST(KimiK3Parse, AWholeReply) {
  EXPECT_EQ(parse(kWhole), kWholeEvents);
  EXPECT_EQ(parse("Hello" + kKimiK3MessageEnd, false), (Events{content("Hello"), turn_end()}));
  EXPECT_EQ(parse("Hi<|close|>response<|sep|>" + kKimiK3MessageEnd, false), (Events{content("Hi"), turn_end()}));
  EXPECT_EQ(parse(kToResponse + "<|close|>response<|sep|>" + kKimiK3MessageEnd), Events{turn_end()});
}

TEST(KimiK3Parse, HowTokensArriveChangesNothing) {
  const Ids ids = ids_of(kWhole);
  for (std::size_t cut = 0; cut <= ids.size(); ++cut) {
    Events events;
    const auto parser = chat().reply_parser({}, {});
    parser->push(std::span(ids).first(cut), events);
    parser->push(std::span(ids).subspan(cut), events);
    ASSERT_EQ(events, kWholeEvents) << cut;
  }
  std::mt19937 random(41);
  for (int round = 0; round < 300; ++round) {
    Events events;
    const auto parser = chat().reply_parser({}, {});
    for (std::size_t at = 0; at < ids.size();) {
      const std::size_t size = std::min<std::size_t>(1 + random() % 7, ids.size() - at);
      parser->push(std::span(ids).subspan(at, size), events);
      at += size;
    }
    ASSERT_EQ(events, kWholeEvents);
  }
}

// All texts of one kind, joined.
std::string all(const Events& events, Kind kind) {
  std::string text;
  for (const ReplyEvent& event : events)
    if (event.kind == kind) text += event.text;
  return text;
}

TEST(KimiK3Parse, ATruncatedReplyDeliversWhatIsThere) {
  const Ids ids = ids_of(kWhole);
  for (std::size_t size = 0; size < ids.size(); ++size) {
    const Events events = parse(Ids(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(size)));
    ASSERT_FALSE(events.empty());
    EXPECT_EQ(events.back(), turn_end(false));
    for (const Kind kind : {Kind::reasoning, Kind::content}) {
      std::string text = all(events, kind);
      if (text.ends_with("\ufffd")) text.resize(text.size() - 3);  // cut inside a character
      EXPECT_TRUE(all(kWholeEvents, kind).starts_with(text)) << text;
    }
    // Every call that began is ended, the last one perhaps as broken off; complete ones are as in the whole reply.
    int begun = 0;
    for (const ReplyEvent& event : events) {
      begun += event.kind == Kind::call_begin ? 1 : event.kind == Kind::call_end ? -1 : 0;
      EXPECT_TRUE(event.kind != Kind::call_end || !event.complete || event == kWholeEvents[5] ||
                  event == kWholeEvents[7]);
    }
    EXPECT_EQ(begun, 0) << size;
  }
  EXPECT_EQ(
      parse(kToResponse + kToTools + R"(<|open|>call tool="t"<|sep|><|open|>argument key="k" type="object"<|sep|>{"a)"),
      (Events{call_begin(0, "t"), argument(0, "k", R"("{\"a")"), call_end(0, R"({"k": "{\"a"})", false),
              turn_end(false)}));
}

TEST(KimiK3Parse, TextIsShownAtOnceAndTagsAreHeldBack) {
  const auto parser = chat().reply_parser({}, {});
  Events events;
  parser->push(ids_of("a\u4f60"), events);
  EXPECT_EQ(events, Events{reasoning("a\u4f60")});
  events.clear();
  parser->push(ids_of("<|close|>thi"), events);
  EXPECT_TRUE(events.empty());
  parser->push(ids_of("nk<|sep|><|open|>response<|sep|>x"), events);
  EXPECT_EQ(events, Events{content("x")});
  events.clear();
  const Ids smile = ids_of("\U0001f600");
  ASSERT_EQ(smile.size(), 4u);
  for (int byte = 0; byte < 3; ++byte)
    parser->push(std::span(smile).subspan(static_cast<std::size_t>(byte), 1), events);
  EXPECT_TRUE(events.empty());
  parser->push(std::span(smile).last(1), events);
  EXPECT_EQ(events, Events{content("\U0001f600")});
}

TEST(KimiK3Parse, WhereTheCloseOfThinkIsMissing) {
  EXPECT_EQ(parse("why<|open|>response<|sep|>so" + kKimiK3MessageEnd),
            (Events{reasoning("why"), content("so"), turn_end()}));
  EXPECT_EQ(
      parse(
          R"(why<|open|>tools<|sep|><|open|>call tool="t" index="1"<|sep|><|close|>call<|sep|><|close|>tools<|sep|>)" +
          kKimiK3MessageEnd),
      (Events{reasoning("why"), call_begin(0, "t"), call_end(0, "{}"), turn_end()}));
  EXPECT_EQ(parse("why<|close|>response<|sep|>" + kKimiK3MessageEnd), (Events{reasoning("why"), turn_end()}));
  EXPECT_EQ(parse("why<|close|>response<|sep|>so" + kKimiK3MessageEnd),
            (Events{reasoning("why"), content("so"), turn_end()}));
  EXPECT_EQ(parse("why" + kKimiK3MessageEnd), (Events{reasoning("why"), turn_end()}));
  EXPECT_EQ(parse("why<|end_of_msg|>"), (Events{reasoning("why"), turn_end()}));
}

// What one call with this body makes of its arguments.
std::string arguments_of(const std::string& body) {
  const Events events = parse(kToResponse + kToTools + R"(<|open|>call tool="t" index="1"<|sep|>)" + body +
                              "<|close|>call<|sep|><|close|>tools<|sep|>" + kKimiK3MessageEnd);
  EXPECT_EQ(events.front(), call_begin(0, "t"));
  EXPECT_EQ(events.back(), turn_end());
  const ReplyEvent& end = events[events.size() - 2];
  EXPECT_EQ(end.kind, Kind::call_end);
  EXPECT_TRUE(end.complete);
  std::string joined;
  for (const ReplyEvent& event : events)
    if (event.kind == Kind::argument)
      joined += (joined.empty() ? "" : ", ") + json_string(event.key) + ": " + event.text;
  EXPECT_TRUE(end.text == "{" + joined + "}" || joined.empty() || !is_json(end.text)) << end.text;
  return end.text;
}
std::string element(const std::string& type, const std::string& body) {
  return R"(<|open|>argument key="k" type=")" + type + "\"<|sep|>" + body + "<|close|>argument<|sep|>";
}

TEST(KimiK3Parse, ArgumentsHaveTypes) {
  EXPECT_EQ(arguments_of(element("string", " 1 \"\\\n")), R"({"k": " 1 \"\\\n"})");
  EXPECT_EQ(arguments_of(element("string", "")), R"({"k": ""})");
  EXPECT_EQ(arguments_of(element("number", "1e2")), R"({"k": 1e2})");
  EXPECT_EQ(arguments_of(element("boolean", "true")), R"({"k": true})");
  EXPECT_EQ(arguments_of(element("null", "null")), R"({"k": null})");
  EXPECT_EQ(arguments_of(element("object", R"({"a": [1]})")), R"({"k": {"a": [1]}})");
  EXPECT_EQ(arguments_of(element("array", "[1, \"two\", false]")), R"({"k": [1, "two", false]})");
  // What does not parse is the string itself.
  EXPECT_EQ(arguments_of(element("number", "many")), R"({"k": "many"})");
  EXPECT_EQ(arguments_of(element("object", "{\"a\":")), R"({"k": "{\"a\":"})");
  EXPECT_EQ(arguments_of(element("number", "")), R"({"k": ""})");
  EXPECT_EQ(arguments_of(R"(<|open|>argument key="k"<|sep|>5<|close|>argument<|sep|>)"), R"({"k": "5"})");
  EXPECT_EQ(arguments_of(element("number", "1") + element("number", "2")), R"({"k": 1, "k": 2})");
}

TEST(KimiK3Parse, AJsonElementHoldsAllArguments) {
  const auto json = [](const std::string& body) {
    return "<|open|>json type=\"object\"<|sep|>" + body + "<|close|>json<|sep|>";
  };
  EXPECT_EQ(arguments_of(json(R"({"a" : 1.50,"b":"x\u00e9"})")), R"({"a": 1.50, "b": "x\u00e9"})");
  EXPECT_EQ(arguments_of(json("{}")), "{}");
  EXPECT_EQ(arguments_of(json("not json")), "not json");
  EXPECT_EQ(arguments_of(json("[1]")), "[1]");
  EXPECT_EQ(arguments_of(json(R"({"a":1})") + element("number", "2")), R"({"a": 1, "k": 2})");
}

TEST(KimiK3Parse, MissingClosesLoseNoCall) {
  const std::string call = R"(<|open|>call tool="t" index="1"<|sep|><|open|>argument key="k" type="number"<|sep|>1)";
  const Events one = {call_begin(0, "t"), argument(0, "k", "1"), call_end(0, R"({"k": 1})"), turn_end()};
  for (const char* close : {"<|close|>call<|sep|>", "<|close|>tools<|sep|>", "<|close|>message<|sep|>",
                            "<|open|>response<|sep|>", "<|close|>argument<|sep|><|close|>tools<|sep|>"})
    EXPECT_EQ(parse(kToResponse + kToTools + call + close + "<|end_of_msg|>"), one) << close;
  // Neither `tools` opened nor the first call closed.
  EXPECT_EQ(parse(call + call + "<|close|>call<|sep|>" + kKimiK3MessageEnd),
            (Events{call_begin(0, "t"), argument(0, "k", "1"), call_end(0, R"({"k": 1})"), call_begin(1, "t"),
                    argument(1, "k", "1"), call_end(1, R"({"k": 1})"), turn_end()}));
  // Two arguments without a close between them.
  EXPECT_EQ(parse(call + R"(<|open|>argument key="m" type="string"<|sep|>x<|close|>call<|sep|>)" + kKimiK3MessageEnd),
            (Events{call_begin(0, "t"), argument(0, "k", "1"), argument(0, "m", "\"x\""),
                    call_end(0, R"({"k": 1, "m": "x"})"), turn_end()}));
  // The turn ends inside the call: delivered, and said to be broken off.
  EXPECT_EQ(parse(call + "<|end_of_msg|>"),
            (Events{call_begin(0, "t"), argument(0, "k", "1"), call_end(0, R"({"k": 1})", false), turn_end()}));
}

TEST(KimiK3Parse, StrayTagsAreIgnoredAndUnknownOnesAreText) {
  EXPECT_EQ(parse("a<|close|>argument<|sep|>b<|close|>call<|sep|>c<|close|>tools<|sep|>d<|sep|>e" + kKimiK3MessageEnd),
            (Events{reasoning("abcde"), turn_end()}));
  EXPECT_EQ(parse(kToResponse + "a<|close|>think<|sep|>b<|open|>argument key=\"k\"<|sep|>c" + kKimiK3MessageEnd),
            (Events{content("abc"), turn_end()}));
  EXPECT_EQ(parse(kToResponse + "x<|open|>b<|sep|>y<|close|>b<|sep|>" + kKimiK3MessageEnd),
            (Events{content("xbyb"), turn_end()}));
  // A tag that another control token ends counts if it is known.
  EXPECT_EQ(parse("a<|close|>think<|open|>response<|sep|>b<|close|>message<|end_of_msg|>"),
            (Events{reasoning("a"), content("b"), turn_end()}));
  EXPECT_EQ(parse("a<|close|>thi<|open|>response<|sep|>b" + kKimiK3MessageEnd),
            (Events{reasoning("athi"), content("b"), turn_end()}));
  // Text between the channels is part of the answer.
  EXPECT_EQ(parse("r<|close|>think<|sep|>a<|open|>response<|sep|>b<|close|>response<|sep|>c" + kKimiK3MessageEnd),
            (Events{reasoning("r"), content("abc"), turn_end()}));
}

TEST(KimiK3Parse, TextThatLooksLikeStructureIsText) {
  const std::string text = "<|close|>think<|sep|><|open|>response<|sep|><|end_of_msg|>[EOS]";
  Ids ids = test::must(tokenizer().encode(text, SpecialSpelling::text));
  ids.push_back(tokenizer().special_id("<|end_of_msg|>"));
  EXPECT_EQ(parse(ids), (Events{reasoning(text), turn_end()}));
}

TEST(KimiK3Parse, EveryEndOfTurnEndsIt) {
  for (const char* end : {"<|end_of_msg|>", "[EOS]", "[EOT]"})
    EXPECT_EQ(parse(kToResponse + "a[BOS]<|media_pad|>b" + end + "more" + kWhole), (Events{content("ab"), turn_end()}))
        << end;
}

TEST(KimiK3Parse, AnEndlessTagIsText) {
  const std::string text(10'000, 'x');
  EXPECT_EQ(parse(kToResponse + "<|open|>" + text + "<|sep|>y" + kKimiK3MessageEnd),
            (Events{content(text + "y"), turn_end()}));
}

TEST(KimiK3Parse, BrokenCharactersAreReplaced) {
  const auto byte = [](unsigned char value) {
    for (int id = 0; id < 256; ++id)
      if (tokenizer().bytes(id) == std::string(1, static_cast<char>(value))) return id;
    return -1;
  };
  const Ids end = ids_of(kToResponse + "x" + kKimiK3MessageEnd);
  Ids ids = {byte('a'), byte(0xf0), byte(0x9f)};
  ids.insert(ids.end(), end.begin(), end.end());
  EXPECT_EQ(parse(ids), (Events{reasoning("a\ufffd"), content("x"), turn_end()}));
}

// A reply that was parsed and is rendered as history gives the same tokens: the prefix of the next prompt is unchanged.
TEST(KimiK3Parse, RenderedHistoryIsReadBack) {
  std::mt19937 random(43);
  const auto any_text = [&] {
    static const std::vector<std::string> words = {"a",  " ", "\n",     "think", "<|sep|>",        "<|open|>",
                                                   "\"", "&", "&quot;", "\\",    "\u4f60",         "\U0001f44b",
                                                   "{",  "}", "=\"",    "\t",    "call tool=\"x\""};
    std::string text;
    for (auto left = random() % 6; left > 0; --left) text += words[random() % words.size()];
    return text;
  };
  for (int round = 0; round < 500; ++round) {
    Message turn = {.role = Role::assistant, .content = {{.text = any_text()}}, .reasoning = any_text()};
    Events expected;
    if (!turn.reasoning.empty()) expected.push_back(reasoning(turn.reasoning));
    if (!turn.content[0].text.empty()) expected.push_back(content(turn.content[0].text));
    for (int call = 0; call < static_cast<int>(random() % 3); ++call) {
      const std::string name = "n" + any_text();
      std::string members;
      std::vector<ReplyEvent> arguments;
      for (auto left = random() % 3; left > 0; --left) {
        const char* const plain[] = {"1e2", "-0.50", "true", "null", R"({"a":[1, "<|sep|>"]})", "[ ]"};
        const std::string literal = random() % 2 == 0 ? json_string(any_text()) : plain[random() % 6];
        arguments.push_back(argument(call, any_text(), literal));
        members += (members.empty() ? "" : ", ") + json_string(arguments.back().key) + ": " + literal;
      }
      turn.calls.push_back({.name = name, .arguments = "{" + members + "}"});
      expected.push_back(call_begin(call, name));
      expected.insert(expected.end(), arguments.begin(), arguments.end());
      expected.push_back(call_end(call, "{" + members + "}"));
    }
    expected.push_back(turn_end());

    // The prompt of an empty conversation is what the reply follows, in history as well.
    const Ids prefix = test::must(chat().render({}, {}));
    const Ids prompt = test::must(chat().render({.messages = {turn}}, {}));
    ASSERT_TRUE(std::equal(prefix.begin(), prefix.end(), prompt.begin()));
    const Ids reply(prompt.begin() + static_cast<std::ptrdiff_t>(prefix.size()),
                    prompt.end() - static_cast<std::ptrdiff_t>(prefix.size()));
    ASSERT_EQ(parse(reply, true, false), expected);
  }
}

TEST(KimiK3Parse, RandomTokensLoseNoText) {
  std::mt19937 random(47);
  const std::vector<std::string> words = {"<|open|>",
                                          "<|open|>",
                                          "<|close|>",
                                          "<|close|>",
                                          "<|sep|>",
                                          "<|sep|>",
                                          "<|sep|>",
                                          "think",
                                          "response",
                                          "tools",
                                          "call",
                                          "argument",
                                          "json",
                                          "message",
                                          "[PAD]",
                                          " tool=\"t\"",
                                          " key=\"k\"",
                                          " type=\"object\"",
                                          "unknown",
                                          "{\"a\":1}",
                                          "\"",
                                          "<|open|>call<|sep|>",
                                          "<|open|>argument<|sep|>",
                                          "<|close|>call<|sep|>"};
  for (int round = 0; round < 3000; ++round) {
    std::string reply;
    std::vector<std::string> marks;
    bool in_tag = false;
    for (auto left = random() % 40; left > 0; --left) {
      if (random() % 3 == 0 && !in_tag) {
        marks.push_back("M" + std::to_string(marks.size()) + "_");
        reply += marks.back();
        continue;
      }
      const std::string& word = words[random() % words.size()];
      if (word.starts_with("<|")) in_tag = !word.ends_with("<|sep|>");
      reply += word;
    }
    const Ids ids = ids_of(reply);
    const Events events = parse(ids, round % 2 == 0);
    std::string delivered;
    for (const ReplyEvent& event : events)
      if (event.kind != Kind::argument) delivered += event.text;
    for (const std::string& mark : marks) EXPECT_NE(delivered.find(mark), std::string::npos) << reply;
    EXPECT_EQ(find_invalid_utf8(delivered), std::string::npos);
    EXPECT_EQ(events.back().kind, Kind::turn_end);
    for (const char* control : {"<|open|>", "<|close|>", "<|sep|>", "[PAD]"})
      EXPECT_EQ(delivered.find(control), std::string::npos) << reply;
  }
  // And anything at all.
  for (int round = 0; round < 2000; ++round) {
    Ids ids;
    for (auto left = random() % 60; left > 0; --left) {
      const int special = static_cast<int>(random() % 8);
      ids.push_back(random() % 2 == 0 ? static_cast<int>(random() % static_cast<unsigned>(tokenizer().vocab_size()))
                                      : tokenizer().special_id("[BOS]") + special);
    }
    const Events events = parse(ids, round % 2 == 0);
    Events in_parts;
    const auto parser = chat().reply_parser({}, {.thinking = round % 2 == 0});
    for (const int id : ids) parser->push(std::span(&id, 1), in_parts);
    parser->finish(in_parts);
    ASSERT_EQ(events, in_parts);
  }
}

}  // namespace
}  // namespace sluice::kimi_k3
