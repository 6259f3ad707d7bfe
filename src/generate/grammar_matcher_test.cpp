// Tests of grammar_matcher.h, token_mask.h and token_constraint.h against plain backtracking and brute force.
#include "generate/grammar_matcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "generate/gbnf.h"
#include "generate/json_schema.h"
#include "generate/token_constraint.h"
#include "support/must.h"

namespace sluice {
namespace {

using State = GrammarMatcher::State;

std::shared_ptr<const Grammar> gbnf(std::string_view text) {
  return std::make_shared<const Grammar>(test::must(parse_gbnf(text)));
}

// The language by the book: every way to derive a beginning of `text` from the element at `place`, one after another.
class Backtracking {
 public:
  explicit Backtracking(const Grammar& grammar) : grammar_(grammar) {}
  bool accepts(std::string_view text) const {
    return derives_rule(grammar_.root, text, [](std::string_view rest) { return rest.empty(); });
  }

 private:
  using Then = std::function<bool(std::string_view rest)>;
  bool derives_rule(std::uint32_t rule, std::string_view text, const Then& then) const {
    return std::ranges::any_of(grammar_.rules[rule], [&](std::uint32_t begin) { return derives(begin, text, then); });
  }
  bool derives(std::uint32_t place, std::string_view text, const Then& then) const {
    const Grammar::Element one = grammar_.elements[place];
    if (one.kind == Grammar::Kind::end) return then(text);
    if (one.kind == Grammar::Kind::rule)
      return derives_rule(one.index, text, [&](std::string_view rest) { return derives(place + 1, rest, then); });
    if (one.kind != Grammar::Kind::bytes || text.empty()) return false;
    return grammar_.byte_sets[one.index].test(static_cast<unsigned char>(text[0])) &&
           derives(place + 1, text.substr(1), then);
  }
  const Grammar& grammar_;
};

State after(GrammarMatcher& matcher, std::string_view text) {
  State state = matcher.start();
  for (const char byte : text)
    if (state != GrammarMatcher::kNone) state = matcher.after_byte(state, static_cast<unsigned char>(byte));
  return state;
}

bool accepts(GrammarMatcher& matcher, std::string_view text) {
  const State state = after(matcher, text);
  return state != GrammarMatcher::kNone && matcher.complete(state);
}

constexpr const char* kGrammars[] = {
    R"(root ::= "a" | "ab" | "abc" "d"?)",
    R"(root ::= ("a" | "b" "a")* "b"?)",
    "root ::= item (\",\" item)*\nitem ::= [a-c]+ | \"(\" root \")\"",
    R"(root ::= ("a" "b"? | "b")* "c")",
    R"(root ::= "a" root "b" | "")",
    "root ::= x{2,4} \"b\"?\nx ::= \"a\" | \"ab\"",
    "root ::= [^a] \"b\"{1,} | . # anything\n",
};

TEST(GrammarMatcher, AcceptsWhatBacktrackingAccepts) {
  for (const char* text : kGrammars) {
    const auto grammar = gbnf(text);
    GrammarMatcher matcher(grammar);
    const Backtracking by_the_book(*grammar);
    int accepted = 0;
    std::vector<std::string> words = {""};
    for (std::size_t at = 0; at < words.size(); ++at) {  // every word of up to seven letters
      const std::string word = words[at];
      const bool wanted = by_the_book.accepts(word);
      accepted += wanted;
      ASSERT_EQ(accepts(matcher, word), wanted) << text << "\n" << word;
      if (word.size() < 6)
        for (const char letter : {'a', 'b', 'c', ',', '(', ')'}) words.push_back(word + letter);
    }
    EXPECT_GE(accepted, 3) << text;
  }
}

TEST(GrammarMatcher, NothingInALoopIsNoLoop) {
  GrammarMatcher matcher(gbnf(R"(root ::= ("a"? "b"?)* "c")"));
  EXPECT_TRUE(accepts(matcher, "abbac"));
  EXPECT_TRUE(accepts(matcher, "c"));
  EXPECT_FALSE(accepts(matcher, "ab"));
}

TEST(GrammarMatcher, AStateLivesIfAndOnlyIfItCanBeCompleted) {
  GrammarMatcher matcher(gbnf(R"(root ::= "ab" ("c" never | "d") 
                                never ::= "x" never)"));
  EXPECT_NE(after(matcher, "ab"), GrammarMatcher::kNone);
  EXPECT_EQ(after(matcher, "abc"), GrammarMatcher::kNone);  // would never come to an end
  const State end = after(matcher, "abd");
  EXPECT_TRUE(matcher.complete(end));
  EXPECT_FALSE(matcher.goes_on(end));
}

TEST(GrammarMatcher, TheInsideOfAStringIsOneState) {
  GrammarMatcher matcher(std::make_shared<const Grammar>(test::must(json_object_grammar())));
  const State inside = after(matcher, R"({"key": "v)");
  EXPECT_EQ(after(matcher, R"({"key": "value and much more)"), inside);
  EXPECT_EQ(after(matcher, "{\"key\": \"\u4e2d"), inside);
  EXPECT_NE(after(matcher, R"({"key": "value")"), inside);
}

// Every state has a table of what follows it by byte, and nesting makes a new state each time.
TEST(GrammarMatcher, RemembersNoMoreThanItSays) {
  const auto nested = gbnf(R"(root ::= "[" root* "]")");
  GrammarMatcher matcher(nested), tidy(nested);
  std::size_t steps = 0;
  for (State state = matcher.start(); !matcher.overflowed(); ++steps) {
    ASSERT_LE(matcher.bytes(), GrammarMatcher::kMostBytes);
    ASSERT_LE(steps, GrammarMatcher::kMostBytes / (256 * sizeof(State)));
    state = matcher.after_byte(state, '[');
  }
  State state = tidy.start();
  for (int step = 0; step < 4000; ++step) {
    state = tidy.after_byte(state, '[');
    if (step % 100 == 0) tidy.tidy(state);
    ASSERT_LE(tidy.bytes(), GrammarMatcher::kMostBytes / 4) << step;
  }
  EXPECT_FALSE(tidy.overflowed());
  EXPECT_TRUE(tidy.goes_on(state));
}

TEST(GrammarMatcher, CharactersAreWholeUtf8) {
  for (const bool negated : {false, true}) {
    const std::string set = negated ? "[^\\u00e9-\\u0801\\U0001F600]" : "[\\u00e9-\\u0801\\U0001F600]";
    GrammarMatcher matcher(gbnf("root ::= " + set));
    for (char32_t letter = 0; letter < 0x11000; ++letter) {
      if (letter >= 0xD800 && letter < 0xE000) continue;
      std::string bytes;
      if (letter < 0x80)
        bytes = {static_cast<char>(letter)};
      else if (letter < 0x800)
        bytes = {static_cast<char>(0xC0 | letter >> 6), static_cast<char>(0x80 | (letter & 63))};
      else if (letter < 0x10000)
        bytes = {static_cast<char>(0xE0 | letter >> 12), static_cast<char>(0x80 | (letter >> 6 & 63)),
                 static_cast<char>(0x80 | (letter & 63))};
      else
        continue;
      const bool in_set = letter >= 0xE9 && letter <= 0x801;
      ASSERT_EQ(accepts(matcher, bytes), in_set != negated) << std::hex << static_cast<unsigned>(letter);
    }
    EXPECT_EQ(accepts(matcher, "\xF0\x9F\x98\x80"), !negated);  // U+1F600
    EXPECT_FALSE(accepts(matcher, "\xED\xA0\x80"));             // a surrogate
    EXPECT_FALSE(accepts(matcher, "\xC0\x80"));                 // overlong
    EXPECT_FALSE(accepts(matcher, "\xF4\x90\x80\x80"));         // beyond the last
    EXPECT_FALSE(accepts(matcher, "\xFF"));
  }
}

TEST(Gbnf, MistakesAreNamedByLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"root ::= \"a", "line 1"},
      {"root ::= [a", "line 1"},
      {"root ::= a", "'a'"},
      {"a ::= \"a\"", "root"},
      {"root ::= \"a\"\nroot ::= \"b\"", "line 2"},
      {"root = \"a\"", "::="},
      {"root ::= (\"a\"", "line 1"},
      {"root ::= \"a\"{3,2}", "count"},
      {"root ::= root \"a\" | \"b\"", "begins with itself"},
      {"root ::= x \"a\"\nx ::= \"\" root | \"b\"", "begins with itself"},
      {"root ::= \"a\" root", "no text"},
      {"root ::= \"\\q\"", "escape"},
      {"root ::= \"a\"{100000} \"b\"{100000} \"c\"{100000}", "too large"}};
  for (const auto& [text, complaint] : cases) {
    const Result<Grammar> grammar = parse_gbnf(text);
    ASSERT_FALSE(grammar) << text;
    EXPECT_EQ(grammar.error().kind, ErrorKind::bad_input);
    EXPECT_NE(grammar.error().what.find(complaint), std::string::npos) << grammar.error().what;
  }
  EXPECT_TRUE(parse_gbnf("root ::= (\"a\"? )* # nothing in a loop\n"));
}

// A vocabulary of pieces that grammars meet, cut in unlucky places.
struct SmallVocabulary {
  std::vector<std::string> tokens;
  explicit SmallVocabulary(std::uint32_t seed) {
    std::mt19937 random(seed);
    const std::string letters = "{}[]\",: \n\\ab01-.etrufalsn";
    for (const char letter : letters) tokens.emplace_back(1, letter);
    for (const char* more : {"\xE4", "\xB8", "\xAD", "\xE4\xB8\xAD", "a\xE4", "\": ", "\", \"", "{\"", "\"}", "true",
                             "}}", "]}", "null", "\\u00", "10", "-1", "\\\"", ""})
      tokens.emplace_back(more);
    for (int extra = 0; extra < 200; ++extra) {
      std::string token;
      for (std::size_t length = 1 + random() % 5; length > 0; --length) token += letters[random() % letters.size()];
      tokens.push_back(std::move(token));
    }
  }
  std::shared_ptr<const VocabularyOrder> order() const {
    return std::make_shared<VocabularyOrder>(static_cast<int>(tokens.size()), [this](int id) {
      return std::string_view(tokens[static_cast<std::size_t>(id)]);
    });
  }
};

const char* const kMaskedSchemas[] = {
    R"({"type":"object"})",
    R"({"type":"array","items":{"enum":["a","ab",true,1]}})",
    R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string","maxLength":3}},"required":["b"]})",
};

TEST(TokenMask, EqualsBruteForce) {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    const SmallVocabulary vocabulary(seed);
    const auto order = vocabulary.order();
    for (const char* schema : kMaskedSchemas) {
      GrammarMatcher matcher(std::make_shared<const Grammar>(test::must(json_schema_grammar(schema))));
      std::mt19937 random(seed);
      State state = matcher.start();
      for (int step = 0; step < 60 && matcher.goes_on(state); ++step) {
        const TokenMask mask = order->allowed(matcher, state);
        std::vector<int> may;
        for (int id = 0; id < order->count(); ++id) {
          const std::string& bytes = vocabulary.tokens[static_cast<std::size_t>(id)];
          State then = bytes.empty() ? GrammarMatcher::kNone : state;
          for (const char byte : bytes)
            if (then != GrammarMatcher::kNone) then = matcher.after_byte(then, static_cast<unsigned char>(byte));
          ASSERT_EQ(mask.allows(id), then != GrammarMatcher::kNone) << schema << " token '" << bytes << "'";
          ASSERT_EQ(order->after(matcher, state, id), then);
          if (then != GrammarMatcher::kNone) may.push_back(id);
        }
        ASSERT_FALSE(may.empty()) << "every single byte is a token";
        state = order->after(matcher, state, may[random() % may.size()]);
      }
    }
  }
}

TEST(TokenMask, ControlTokensComeOnlyAsTokens) {
  GrammarBuilder builder;
  const auto text = builder.repeat({builder.characters({}, true)}, 0, -1);
  auto sequence = text;
  for (const auto& symbol : builder.ids(std::vector<int>{3, 1, 4})) sequence.push_back(symbol);  // 1 has text too
  const auto grammar = std::make_shared<const Grammar>(test::must(builder.finish(builder.choice({sequence}))));
  const std::vector<std::string> tokens = {"a", "b", "<end>", "", ""};
  const auto order = std::make_shared<VocabularyOrder>(
      5, [&](int id) { return std::string_view(tokens[static_cast<std::size_t>(id)]); });
  TokenConstraint constraint({grammar, order}, {});
  const std::vector<float> logits(6, 1.f);  // one id beyond the vocabulary
  const auto may = [&] {
    std::vector<int> ids;
    const std::span<const float> masked = test::must(constraint.masked(logits));
    for (std::size_t id = 0; id < masked.size(); ++id)
      if (masked[id] == 1.f) ids.push_back(static_cast<int>(id));
    return ids;
  };
  EXPECT_EQ(may(), (std::vector<int>{0, 1, 2, 3}));
  constraint.accept(2);  // as the text it is
  EXPECT_EQ(may(), (std::vector<int>{0, 1, 2, 3}));
  constraint.accept(3);
  EXPECT_EQ(may(), (std::vector<int>{1}));
  constraint.accept(1);
  EXPECT_EQ(may(), (std::vector<int>{4}));
  EXPECT_FALSE(constraint.ended());
  constraint.accept(4);
  EXPECT_TRUE(constraint.ended());
}

TEST(TokenMask, NamedTokensThatHaveTextMayBeThatText) {
  GrammarBuilder builder;
  const auto text = builder.repeat({builder.characters({}, true)}, 0, -1);
  const auto root = builder.choice({text + builder.ids(std::vector<int>{1, 2})});
  const auto grammar = std::make_shared<const Grammar>(test::must(builder.finish(root)));
  const std::vector<std::string> tokens = {"a", "b", ""};
  const auto order = std::make_shared<VocabularyOrder>(
      3, [&](int id) { return std::string_view(tokens[static_cast<std::size_t>(id)]); });
  GrammarMatcher matcher(grammar);
  const auto may_end = [&](const std::vector<int>& ids) {
    GrammarMatcher::State state = matcher.start();
    for (const int id : ids) state = order->after(matcher, state, id);
    EXPECT_TRUE(order->allowed(matcher, state).allows(0) && order->allowed(matcher, state).allows(1));
    return order->allowed(matcher, state).allows(2);
  };
  EXPECT_FALSE(may_end({}));
  EXPECT_FALSE(may_end({0}));
  EXPECT_TRUE(may_end({0, 1}));
  EXPECT_FALSE(may_end({0, 1, 0}));  // the first b was text
  EXPECT_TRUE(may_end({1, 1}));
  EXPECT_TRUE(matcher.complete(order->after(matcher, order->after(matcher, matcher.start(), 1), 2)));
}

TEST(TokenConstraint, StopsMayComeWhereTheTextIsComplete) {
  const std::vector<std::string> tokens = {"a", "b", ""};
  const auto order = std::make_shared<VocabularyOrder>(
      3, [&](int id) { return std::string_view(tokens[static_cast<std::size_t>(id)]); });
  TokenConstraint constraint({gbnf(R"(root ::= "a"+ "b"?)"), order}, {2});
  const std::vector<float> logits(3, 0.f);
  EXPECT_TRUE(std::isinf(test::must(constraint.masked(logits))[2]));
  constraint.accept(0);
  EXPECT_EQ(test::must(constraint.masked(logits))[2], 0.f);
  constraint.accept(2);
  EXPECT_TRUE(constraint.ended());
  TokenConstraint other({gbnf(R"(root ::= "a"+ "b"?)"), order}, {2});
  other.accept(0);
  other.accept(1);
  EXPECT_TRUE(other.ended());  // nothing may follow: no stop is waited for
}

TEST(TokenConstraint, ForgettingOldStatesChangesNothing) {
  const SmallVocabulary vocabulary(7);
  const auto order = vocabulary.order();
  const auto grammar = std::make_shared<const Grammar>(
      test::must(json_schema_grammar(R"({"type":"array","items":{"type":"string","maxLength":900},"minItems":900})")));
  TokenConstraint constraint({grammar, order}, {});
  GrammarMatcher matcher(grammar);
  std::mt19937 random(3);
  const std::vector<float> logits(vocabulary.tokens.size(), 0.f);
  std::string text;
  for (int step = 0; step < 900; ++step) {
    std::vector<int> may;
    const std::span<const float> masked = test::must(constraint.masked(logits));
    for (std::size_t id = 0; id < masked.size(); ++id)
      if (masked[id] == 0.f) may.push_back(static_cast<int>(id));
    const int id = may[random() % may.size()];
    constraint.accept(id);
    text += vocabulary.tokens[static_cast<std::size_t>(id)];
  }
  EXPECT_GT(text.size(), 1500u);
  EXPECT_NE(after(matcher, text), GrammarMatcher::kNone);
}

TEST(TokenConstraint, TooManyWaysAreAnErrorAndNotTheEndOfTheProgram) {
  std::string text = "root ::=";
  for (int copy = 0; copy < 40; ++copy) text += " a";
  text += "\na ::= b* c*\nb ::= \"x\" | \"x\" b\nc ::= \"x\" c | b b | \"x\"\n";
  const std::vector<std::string> tokens = {"x", ""};
  const auto order = std::make_shared<VocabularyOrder>(
      2, [&](int id) { return std::string_view(tokens[static_cast<std::size_t>(id)]); });
  TokenConstraint constraint({gbnf(text), order}, {1});
  const std::vector<float> logits(2, 0.f);
  bool failed = false;
  for (int step = 0; step < 200 && !failed; ++step) {
    const Result<std::span<const float>> masked = constraint.masked(logits);
    failed = !masked;
    if (masked) constraint.accept(0);
    if (failed) {
      EXPECT_EQ(masked.error().kind, ErrorKind::bad_input);
    }
  }
}

}  // namespace
}  // namespace sluice
