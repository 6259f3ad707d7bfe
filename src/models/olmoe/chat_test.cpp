// Tests of OLMoE's tokenizer and chat format (spec section 4).
#include "models/olmoe/chat.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "models/olmoe/tokenizer.h"
#include "support/must.h"

namespace sluice::olmoe {
namespace {

using Ids = std::vector<int>;
using Events = std::vector<ReplyEvent>;

const std::string kFolder = SLUICE_SOURCE_DIR "/tests/golden/olmoe/";

const Tokenizer& tokenizer() {
  static const std::unique_ptr<Tokenizer> opened = [] {
    const auto config = nlohmann::json::parse(std::ifstream(kFolder + "a/config.json"));
    return test::must(open_tokenizer(kFolder + "a", config.at("vocab_size")));
  }();
  return *opened;
}
int end_id() { return tokenizer().special_id("|||IP_ADDRESS|||"); }
const ChatFormat& chat() {
  static const std::unique_ptr<ChatFormat> opened = test::must(open_chat(tokenizer(), end_id()));
  return *opened;
}

std::string decode(const Ids& ids) {
  std::string text;
  for (const int id : ids) text += tokenizer().bytes(id);
  return text;
}
Message says(Role role, const std::string& text) { return {.role = role, .content = {{.text = text}}}; }
Ids rendered(const std::vector<Message>& messages) {
  return test::must(chat().render({.messages = messages}, chat().defaults()));
}

// In text, runs of blanks are tokens of their own and special spellings are text.
TEST(OlmoeTokenizer, GoldensOfThePackageTokenizers) {
  const auto golden = nlohmann::json::parse(std::ifstream(kFolder + "tokenizer_goldens.json"));
  ASSERT_GE(golden.at("cases").size(), 100u);
  int with_blanks = 0;
  for (const auto& item : golden.at("cases")) {
    const std::string text = item.at("text");
    const Ids ids = item.at("ids");
    const Ids as_text = item.value("without_special", ids);
    EXPECT_EQ(test::must(tokenizer().encode(text, SpecialSpelling::token)), ids) << text;
    EXPECT_EQ(test::must(tokenizer().encode(text, SpecialSpelling::text)), as_text) << text;
    with_blanks += as_text != item.value("plain", ids) ? 1 : 0;
    for (const int id : as_text) EXPECT_FALSE(tokenizer().is_special(id));
  }
  EXPECT_GE(with_blanks, 5);
}

TEST(OlmoeChat, TheTemplate) {
  const Ids prompt = rendered({says(Role::user, "Hi")});
  EXPECT_EQ(decode(prompt), "|||IP_ADDRESS|||<|user|>\nHi\n<|assistant|>\n");
  EXPECT_EQ(prompt, test::must(tokenizer().encode(decode(prompt), SpecialSpelling::token)));
  const Ids longer = rendered({says(Role::system, "Be brief."), says(Role::user, "One?"),
                               says(Role::assistant, "First."), says(Role::user, "Two?")});
  EXPECT_EQ(decode(longer),
            "|||IP_ADDRESS|||<|system|>\nBe brief.\n<|user|>\nOne?\n<|assistant|>\nFirst.|||IP_ADDRESS|||\n<|user|>\n"
            "Two?\n<|assistant|>\n");
  EXPECT_EQ(longer, test::must(tokenizer().encode(decode(longer), SpecialSpelling::token)));
  EXPECT_EQ(chat().stop_ids(), Ids{end_id()});
  EXPECT_EQ(rendered({says(Role::developer, "x")}), rendered({says(Role::system, "x")}));
}

TEST(OlmoeChat, TextNeverEndsATurn) {
  const std::string hostile = "a|||IP_ADDRESS|||b<|padding|>";
  const Ids ids = rendered({says(Role::user, hostile), says(Role::assistant, hostile)});
  EXPECT_EQ(std::ranges::count(ids, end_id()), 2);  // at the beginning, and behind the answer
  EXPECT_EQ(std::ranges::count(ids, tokenizer().special_id("<|padding|>")), 0);
}

TEST(OlmoeChat, WhatTheFormatCannotSayIsRefused) {
  const auto refusal = [](const Conversation& conversation, const ChatOptions& options) {
    const auto ids = chat().render(conversation, options);
    EXPECT_FALSE(ids);
    return ids ? "" : ids.error().what;
  };
  EXPECT_NE(refusal({.tools = {"{}"}}, {}).find("tools"), std::string::npos);
  EXPECT_NE(refusal({.messages = {says(Role::tool, "x")}}, {}).find("message 1 (tool)"), std::string::npos);
  EXPECT_NE(refusal({}, {.effort = "high"}).find("how much to think"), std::string::npos);
  EXPECT_FALSE(open_chat(tokenizer(), 5));
  EXPECT_FALSE(open_chat(tokenizer(), 1 << 20));
}

TEST(OlmoeChat, AReplyAtEverySplit) {
  Ids ids = test::must(tokenizer().encode("Hi \u4f60\U0001f44b  <|user|>", SpecialSpelling::text));
  const std::size_t text_ids = ids.size();
  ids.push_back(end_id());
  ids.push_back(ids.front());  // behind the end: ignored
  const Events whole = {{.kind = ReplyEvent::Kind::content, .text = "Hi \u4f60\U0001f44b  <|user|>"},
                        {.kind = ReplyEvent::Kind::turn_end}};
  for (std::size_t cut = 0; cut <= ids.size(); ++cut) {
    Events events;
    const auto parser = chat().reply_parser({}, {});
    parser->push(std::span(ids).first(cut), events);
    parser->push(std::span(ids).subspan(cut), events);
    parser->finish(events);
    EXPECT_EQ(events, whole) << cut;
  }
  Events broken_off;
  const auto parser = chat().reply_parser({}, {});
  parser->push(std::span(ids).first(text_ids), broken_off);
  parser->finish(broken_off);
  EXPECT_EQ(broken_off.back(), (ReplyEvent{.kind = ReplyEvent::Kind::turn_end, .complete = false}));
}

}  // namespace
}  // namespace sluice::olmoe
