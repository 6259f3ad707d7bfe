// See gbnf.h.
#include "generate/gbnf.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "text/utf8.h"

namespace sluice {

namespace {

using Symbol = GrammarBuilder::Symbol;
using Sequence = GrammarBuilder::Sequence;

constexpr int kDeepestGroup = 100;  // groups within groups
constexpr int kMostRepeats = 100'000;

bool is_name(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
         letter == '-' || letter == '_';
}

class GbnfReader {
 public:
  GbnfReader(std::string_view text, GrammarBuilder& builder) : text_(text), builder_(builder) {}

  Result<Symbol> root() {
    TRY(require_utf8(text_));
    skip(true);
    while (more()) {
      TRY(one_rule());
      skip(true);
    }
    for (const auto& [name, rule] : rules_)
      if (!rule.defined)
        return fail(ErrorKind::bad_input, fmt::format("the grammar uses the rule '{}' and does not define it", name));
    const auto root = rules_.find("root");
    if (root == rules_.end()) return fail(ErrorKind::bad_input, "the grammar has no rule named root");
    return root->second.symbol;
  }

 private:
  struct Rule {
    Symbol symbol;
    bool defined = false;
  };

  bool more() const { return at_ < text_.size(); }
  char peek() const { return more() ? text_[at_] : '\0'; }
  bool take(std::string_view words) {
    if (!text_.substr(at_).starts_with(words)) return false;
    at_ += words.size();
    return true;
  }
  tl::unexpected<Error> wrong(std::string_view what) const {
    const auto line =
        std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, text_.size())), '\n');
    return fail(ErrorKind::bad_input, fmt::format("the grammar, line {}: {}", line + 1, what));
  }
  // Blanks and comments; over line ends only if a rule may go on there.
  void skip(bool over_lines) {
    while (more()) {
      if (peek() == '#')
        while (more() && peek() != '\n') ++at_;
      const bool line_end = peek() == '\n' || peek() == '\r';
      if (!more() || (peek() != ' ' && peek() != '\t' && !(line_end && over_lines))) return;
      ++at_;
    }
  }
  std::string name() {
    const std::size_t begin = at_;
    while (more() && is_name(peek())) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  Rule& rule(const std::string& called) {
    const auto found = rules_.find(called);
    return found != rules_.end() ? found->second : rules_.emplace(called, Rule{builder_.rule()}).first->second;
  }

  Result<> one_rule() {
    const std::string called = name();
    if (called.empty()) return wrong("a rule begins with its name");
    skip(false);
    if (!take("::=")) return wrong(fmt::format("'::=' is missing after the name '{}'", called));
    Rule& made = rule(called);
    if (std::exchange(made.defined, true)) return wrong(fmt::format("the rule '{}' is defined twice", called));
    const Symbol symbol = made.symbol;
    skip(true);
    TRY(alternatives(symbol, 0));
    if (more() && peek() != '\n' && peek() != '\r') return wrong(fmt::format("'{}' is not expected here", peek()));
    return {};
  }

  Result<> alternatives(Symbol into, int depth) {
    if (depth > kDeepestGroup) return wrong("groups are too deep");
    do {
      skip(true);
      TRY_TAKE(Sequence sequence, concatenation(depth));
      builder_.add_alternative(into, std::move(sequence));
    } while (take("|"));
    return {};
  }

  Result<Sequence> concatenation(int depth) {
    Sequence all;
    while (more()) {
      skip(depth > 0);
      const char letter = peek();
      Sequence one;
      if (letter == '"') {
        TRY_TAKE(one, literal());
      } else if (letter == '[') {
        TRY_TAKE(const Symbol set, one_class());
        one = {set};
      } else if (letter == '.') {
        ++at_;
        one = {builder_.characters({}, true)};
      } else if (letter == '(') {
        ++at_;
        const Symbol group = builder_.rule();
        TRY(alternatives(group, depth + 1));
        if (!take(")")) return wrong("a ( has no )");
        one = {group};
      } else if (is_name(letter)) {
        const std::string called = name();
        one = {rule(called).symbol};
      } else {
        return all;
      }
      TRY_TAKE(one, repeated(std::move(one), depth));
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

  Result<Sequence> repeated(Sequence one, int depth) {
    while (true) {
      skip(depth > 0);
      int least = 0, most = -1;
      if (take("+")) {
        least = 1;
      } else if (take("?")) {
        most = 1;
      } else if (peek() == '{') {
        ++at_;
        TRY(counts(least, most));
      } else if (!take("*")) {
        return one;
      }
      one = builder_.repeat(std::move(one), least, most);
    }
  }

  Result<> counts(int& least, int& most) {
    const auto number = [&](int& value) {
      skip(false);
      const auto read = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      const bool fits = read.ec == std::errc() && value >= 0 && value <= kMostRepeats;
      at_ = static_cast<std::size_t>(read.ptr - text_.data());
      skip(false);
      return fits;
    };
    if (!number(least)) return wrong("{ is not followed by a count");
    most = least;
    if (take(",")) {
      skip(false);
      most = -1;
      if (peek() != '}' && !number(most)) return wrong("{n, is not followed by a count");
    }
    if (!take("}") || (most >= 0 && most < least)) return wrong("a count is {n}, {n,} or {n,m}");
    return {};
  }

  Result<char32_t> character() {
    if (!take("\\")) {
      const Utf8Step step = utf8_step(text_.substr(at_));
      at_ += step.bytes;
      return step.value;
    }
    const char letter = peek();
    ++at_;
    constexpr std::pair<char, char32_t> kPlain[] = {{'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'\\', '\\'}, {'"', '"'},
                                                    {'[', '['},  {']', ']'},  {'-', '-'},  {'^', '^'}};
    for (const auto& [escape, value] : kPlain)
      if (letter == escape) return value;
    const std::size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    std::uint32_t value = 0;
    const std::string_view spelled = text_.substr(std::min(at_, text_.size()), digits);
    const auto read = std::from_chars(spelled.data(), spelled.data() + spelled.size(), value, 16);
    const bool is_character = value <= 0x10FFFF && (value < 0xD800 || value >= 0xE000);
    if (digits == 0 || spelled.size() != digits || read.ptr != spelled.data() + digits || !is_character)
      return wrong("an escape is none of \\n \\r \\t \\\\ \\\" \\[ \\] \\xHH \\uHHHH \\UHHHHHHHH");
    at_ += digits;
    return static_cast<char32_t>(value);
  }

  Result<Sequence> literal() {
    ++at_;
    std::string bytes;
    while (more() && peek() != '"' && peek() != '\n') {
      TRY_TAKE(const char32_t value, character());
      append_utf8(value, bytes);
    }
    if (!take("\"")) return wrong("a \" has no end");
    return builder_.literal(bytes);
  }

  Result<Symbol> one_class() {
    ++at_;
    const bool negated = take("^");
    GrammarBuilder::CharacterRanges ranges;
    while (more() && peek() != ']' && peek() != '\n') {
      TRY_TAKE(const char32_t first, character());
      char32_t last = first;
      if (peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        TRY_TAKE(last, character());
        if (last < first) return wrong("a range ends before it begins");
      }
      ranges.emplace_back(first, last);
    }
    if (!take("]")) return wrong("a [ has no ]");
    return builder_.characters(std::move(ranges), negated);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  GrammarBuilder& builder_;
  std::map<std::string, Rule> rules_;
};

}  // namespace

Result<GrammarBuilder::Symbol> gbnf_rules(std::string_view text, GrammarBuilder& builder) {
  return GbnfReader(text, builder).root();
}

Result<Grammar> parse_gbnf(std::string_view text) {
  GrammarBuilder builder;
  TRY_TAKE(const Symbol root, gbnf_rules(text, builder));
  return builder.finish(root);
}

}  // namespace sluice
