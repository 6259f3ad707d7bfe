// See string_pattern.h.
#include "generate/string_pattern.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <string>

#include "text/utf8.h"

namespace sluice {

namespace {

using Symbol = GrammarBuilder::Symbol;
using Sequence = GrammarBuilder::Sequence;
using Ranges = GrammarBuilder::CharacterRanges;

constexpr int kDeepestPattern = 50;  // groups within groups

const Ranges kDigits = {{'0', '9'}};
const Ranges kWord = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const Ranges kBlanks = {{'\t', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
                        {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
const Ranges kLineEnds = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

Ranges others(const Ranges& ranges) {
  Ranges rest;
  char32_t next = 0;
  for (const auto& [first, last] : ranges) {  // they rise
    if (first > next) rest.emplace_back(next, first - 1);
    next = last + 1;
  }
  rest.emplace_back(next, 0x10FFFF);
  return rest;
}

class PatternReader {
 public:
  PatternReader(std::string_view pattern, StringCharacters& characters) : pattern_(pattern), characters_(characters) {}

  Result<Symbol> whole() {
    std::vector<Sequence> alternatives;
    do {
      const bool from_start = take('^');
      anchored_end_ = false;
      TRY_TAKE(Sequence sequence, concatenation(0));
      const Sequence anything = characters_.grammar().repeat({characters_.any()}, 0, -1);
      if (!from_start) sequence.insert(sequence.begin(), anything.begin(), anything.end());
      if (!anchored_end_) sequence.insert(sequence.end(), anything.begin(), anything.end());
      alternatives.push_back(std::move(sequence));
    } while (take('|'));
    if (at_ < pattern_.size()) return unknown("an unmatched )");
    return characters_.grammar().choice(std::move(alternatives));
  }

 private:
  bool more() const { return at_ < pattern_.size(); }
  char peek() const { return more() ? pattern_[at_] : '\0'; }
  bool take(char letter) {
    if (!more() || pattern_[at_] != letter) return false;
    ++at_;
    return true;
  }
  tl::unexpected<Error> unknown(std::string_view what) const {
    return fail(ErrorKind::bad_input, fmt::format("the pattern '{}' holds {} at byte {}", pattern_, what, at_),
                "known are literals, classes, groups, |, * + ? {n,m}, and ^ and $ at the ends");
  }

  Result<Symbol> alternation(int depth) {
    if (depth > kDeepestPattern) return unknown("groups that are too deep");
    std::vector<Sequence> alternatives;
    do {
      TRY_TAKE(Sequence sequence, concatenation(depth));
      alternatives.push_back(std::move(sequence));
    } while (take('|'));
    return characters_.grammar().choice(std::move(alternatives));
  }

  Result<Sequence> concatenation(int depth) {
    Sequence all;
    while (more() && peek() != '|' && peek() != ')') {
      if (peek() == '$' && depth == 0 && (at_ + 1 == pattern_.size() || pattern_[at_ + 1] == '|')) {
        ++at_;
        anchored_end_ = true;
        break;
      }
      TRY_TAKE(const Sequence atom, quantified(depth));
      all.insert(all.end(), atom.begin(), atom.end());
    }
    return all;
  }

  Result<Sequence> quantified(int depth) {
    TRY_TAKE(const Symbol atom, one_atom(depth));
    int least = 1, most = 1;
    if (take('*')) {
      least = 0, most = -1;
    } else if (take('+')) {
      most = -1;
    } else if (take('?')) {
      least = 0;
    } else if (peek() == '{') {
      TRY(counts(least, most));
    }
    if (peek() == '?' || peek() == '+' || peek() == '*' || peek() == '{')
      return unknown("a quantifier of a quantifier");
    return characters_.grammar().repeat({atom}, least, most);
  }

  Result<> counts(int& least, int& most) {
    const std::size_t end = pattern_.find('}', at_);
    const std::string_view inside = pattern_.substr(at_ + 1, end == std::string_view::npos ? 0 : end - at_ - 1);
    const std::size_t comma = inside.find(',');
    const auto number = [](std::string_view digits) {
      int value = -1;
      const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      return read.ec == std::errc() && read.ptr == digits.data() + digits.size() && value >= 0 && value <= 100'000
                 ? value
                 : -1;
    };
    least = number(inside.substr(0, comma));
    most = comma == std::string_view::npos ? least : comma + 1 == inside.size() ? -1 : number(inside.substr(comma + 1));
    const bool open_ended = comma != std::string_view::npos && comma + 1 == inside.size();
    if (least < 0 || (!open_ended && most < least)) return unknown("a count that is none");
    at_ = end + 1;
    return {};
  }

  Result<Symbol> one_atom(int depth) {
    if (take('(')) {
      if (take('?')) {
        if (!take(':')) return unknown("a group of a special kind");
      }
      TRY_TAKE(const Symbol group, alternation(depth + 1));
      if (!take(')')) return unknown("a ( without its )");
      return group;
    }
    if (take('[')) return one_class();
    if (take('.')) return characters_.of(kLineEnds, true);
    const char letter = peek();
    if (letter == '*' || letter == '+' || letter == '?' || letter == '{') return unknown("a quantifier of nothing");
    if (letter == '^' || letter == '$') return unknown("an anchor in the middle");
    TRY_TAKE(const Ranges ranges, one_character(false));
    return characters_.of(ranges);
  }

  Result<Symbol> one_class() {
    const bool negated = take('^');
    Ranges all;
    while (more() && peek() != ']') {
      TRY_TAKE(const Ranges first, one_character(true));
      const bool is_range = peek() == '-' && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']';
      if (!is_range) {
        all.insert(all.end(), first.begin(), first.end());
        continue;
      }
      ++at_;
      TRY_TAKE(const Ranges last, one_character(true));
      const bool is_single = first.size() == 1 && first[0].first == first[0].second && last.size() == 1 &&
                             last[0].first == last[0].second && first[0].first <= last[0].first;
      if (!is_single) return unknown("a range that is none");
      all.emplace_back(first[0].first, last[0].first);
    }
    if (!take(']')) return unknown("a [ without its ]");
    return characters_.of(all, negated);
  }

  // A literal character or an escape.
  Result<Ranges> one_character(bool in_class) {
    if (take('\\')) return escape(in_class);
    const Utf8Step step = utf8_step(pattern_.substr(at_));
    if (step.kind != Utf8::character) return unknown("bytes that are no UTF-8");
    at_ += step.bytes;
    return Ranges{{step.value, step.value}};
  }

  Result<Ranges> escape(bool in_class) {
    if (!more()) return unknown("a \\ at its end");
    const char letter = pattern_[at_++];
    const auto one = [](char32_t value) { return Ranges{{value, value}}; };
    switch (letter) {
      case 'd':
        return kDigits;
      case 'D':
        return others(kDigits);
      case 'w':
        return kWord;
      case 'W':
        return others(kWord);
      case 's':
        return kBlanks;
      case 'S':
        return others(kBlanks);
      case 'n':
        return one('\n');
      case 'r':
        return one('\r');
      case 't':
        return one('\t');
      case 'f':
        return one('\f');
      case 'v':
        return one('\v');
      case 'x':
        return hex(2);
      case 'u':
        return hex(4);
      default:
        break;
    }
    const auto code = static_cast<unsigned char>(letter);
    const bool is_word = (code >= '0' && code <= '9') || (code >= 'A' && code <= 'Z') || (code >= 'a' && code <= 'z');
    if (is_word || code >= 0x80 || (in_class && letter == 'b')) {
      --at_;
      return unknown(fmt::format("the escape \\{}", letter));
    }
    return one(code);
  }

  Result<Ranges> hex(std::size_t digits) {
    const std::string_view spelled = pattern_.substr(at_, digits);
    std::uint32_t value = 0;
    const auto read = std::from_chars(spelled.data(), spelled.data() + spelled.size(), value, 16);
    if (spelled.size() != digits || read.ptr != spelled.data() + digits || (value >= 0xD800 && value < 0xE000))
      return unknown("an escape that names no character");
    at_ += digits;
    return Ranges{{value, value}};
  }

  std::string_view pattern_;
  StringCharacters& characters_;
  std::size_t at_ = 0;
  bool anchored_end_ = false;
};

// A part of each that nobody disputes.
const std::map<std::string, const char*, std::less<>> kFormats = {
    {"date",
     "^[1-9][0-9]{3}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2["
     "0-8]))$"},
    {"time", "^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"},
    {"date-time",
     "^[1-9][0-9]{3}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2["
     "0-8]))T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"},
    {"uuid", "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"},
    {"ipv4", "^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])\\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])$"},
    {"email",
     "^[A-Za-z0-9_-]{1,32}(\\.[A-Za-z0-9_-]{1,16}){0,3}@([a-z0-9]{1,24}(-[a-z0-9]{1,16}){0,2}\\.){1,3}[a-z]{2,12}$"},
    {"hostname", "^([a-z0-9]{1,24}(-[a-z0-9]{1,16}){0,2}\\.){0,4}[a-z]{2,12}$"},
};

}  // namespace

Result<GrammarBuilder::Symbol> string_pattern(std::string_view pattern, StringCharacters& characters) {
  return PatternReader(pattern, characters).whole();
}

std::optional<std::string_view> pattern_of_format(std::string_view format) {
  const auto known = kFormats.find(format);
  if (known == kFormats.end()) return std::nullopt;
  return known->second;
}

}  // namespace sluice
