// See json_rules.h.
#include "generate/json_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "text/utf8.h"

namespace sluice {

using Symbol = JsonRules::Symbol;
using Sequence = JsonRules::Sequence;

namespace {

constexpr int kMostSpaces = 32, kMostTabs = 8;  // of an indent
constexpr int kFraction = 15, kExponent = 2;    // digits

}  // namespace

Symbol JsonRules::kept(std::optional<Symbol>& place, Symbol (JsonRules::*make)()) {
  if (!place) place = (this->*make)();
  return *place;
}

Symbol JsonRules::value() { return kept(value_, &JsonRules::make_value); }
Symbol JsonRules::object() { return value(), *object_; }
Symbol JsonRules::string() { return kept(string_, &JsonRules::make_string); }
Symbol JsonRules::number() { return kept(number_, &JsonRules::make_number); }
Symbol JsonRules::blank() { return kept(blank_, &JsonRules::make_blank); }
Symbol JsonRules::after_colon() { return kept(after_colon_, &JsonRules::make_after_colon); }

Symbol JsonRules::make_value() {
  value_ = grammar_.rule();
  const Sequence member = Sequence{string()} + text(":") + Sequence{after_colon(), *value_};
  const Sequence comma = text(",") + Sequence{blank()};
  const auto list = [&](const char* open, const Sequence& item, const char* close) {
    const Sequence items = item + grammar_.repeat(comma + item, 0, -1) + Sequence{blank()};
    return grammar_.choice({text(open) + Sequence{blank()} + items + text(close), text(open) + text(close)});
  };
  object_ = list("{", member, "}");
  array_ = list("[", {*value_}, "]");
  for (const Sequence& one : {Sequence{*object_}, Sequence{*array_}, Sequence{string()}, Sequence{number()},
                              text("true"), text("false"), text("null")})
    grammar_.add_alternative(*value_, one);
  return *value_;
}

Symbol JsonRules::make_string() {
  return grammar_.choice({text("\"") + grammar_.repeat({characters_.any()}, 0, -1) + text("\"")});
}

Symbol JsonRules::make_number() {
  const Symbol digits = digit('0', '9');
  const Sequence whole = {grammar_.choice({text("0"), Sequence{digit('1', '9')} + grammar_.repeat({digits}, 0, 15)})};
  const Symbol fraction = grammar_.optional(text(".") + grammar_.repeat({digits}, 1, kFraction));
  const Symbol sign = grammar_.choice({text("+"), text("-"), {}});
  const Symbol letter = grammar_.choice({text("e"), text("E")});
  const Symbol exponent = grammar_.optional(Sequence{letter, sign} + grammar_.repeat({digits}, 1, kExponent));
  return grammar_.choice({Sequence{grammar_.optional(text("-"))} + whole + Sequence{fraction, exponent}});
}

Symbol JsonRules::make_blank() {
  return grammar_.choice({{},
                          text(" "),
                          text("\n") + grammar_.repeat(text(" "), 0, kMostSpaces),
                          text("\n") + grammar_.repeat(text("\t"), 1, kMostTabs)});
}

Symbol JsonRules::make_after_colon() { return grammar_.optional(text(" ")); }

Symbol JsonRules::other_name(std::vector<std::string> names) {
  std::vector<std::u32string> letters;
  for (const std::string& name : names) {
    std::u32string& spelled = letters.emplace_back();
    for (std::string_view rest = name; !rest.empty();) {
      const Utf8Step step = utf8_step(rest);
      spelled += step.value;
      rest.remove_prefix(std::max<std::size_t>(step.bytes, 1));
    }
  }
  return grammar_.choice({text("\"") + Sequence{name_past(letters, 0)} + text("\"")});
}

// What may follow the first `length` letters, which all of `names` share, so that the whole is none of them.
Symbol JsonRules::name_past(const std::vector<std::u32string>& names, std::size_t length) {
  std::map<char32_t, std::vector<std::u32string>> by_next;
  bool is_a_name = false;
  for (const std::u32string& name : names) {
    is_a_name = is_a_name || name.size() == length;
    if (name.size() > length) by_next[name[length]].push_back(name);
  }
  GrammarBuilder::CharacterRanges not_plain = {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}};
  const Symbol plain = grammar_.characters(not_plain, true);
  const Symbol made = grammar_.rule();
  if (!is_a_name) grammar_.add_alternative(made, {});
  for (const auto& [letter, longer] : by_next) {
    const bool must_be_escaped = letter < 0x20 || letter == '"' || letter == '\\';
    if (!must_be_escaped)
      grammar_.add_alternative(made, {grammar_.characters({{letter, letter}}), name_past(longer, length + 1)});
    not_plain.emplace_back(letter, letter);
  }
  grammar_.add_alternative(made, Sequence{grammar_.characters(not_plain, true)} + grammar_.repeat({plain}, 0, -1));
  return made;
}

}  // namespace sluice
