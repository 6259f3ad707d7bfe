// See grammar.h.
#include "generate/grammar.h"

#include <algorithm>

#include "text/utf8.h"

namespace sluice {

using Symbol = GrammarBuilder::Symbol;
using Sequence = GrammarBuilder::Sequence;
using Kind = Grammar::Kind;

Symbol GrammarBuilder::rule() {
  rules_.emplace_back();
  return {Kind::rule, static_cast<std::uint32_t>(rules_.size() - 1)};
}

void GrammarBuilder::add_alternative(Symbol rule, Sequence sequence) {
  size_ += sequence.size() + 1;
  if (!too_large()) rules_[rule.index].push_back(std::move(sequence));
}

Symbol GrammarBuilder::choice(std::vector<Sequence> alternatives) {
  const Symbol made = rule();
  for (Sequence& sequence : alternatives) add_alternative(made, std::move(sequence));
  return made;
}

Symbol GrammarBuilder::one_of(std::vector<std::string> texts) {
  std::ranges::sort(texts);
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  const Symbol made = rule();
  for (auto begin = texts.begin(); begin != texts.end();) {
    if (begin->empty()) {
      add_alternative(made, {});
      ++begin;
      continue;
    }
    auto end = std::find_if(begin, texts.end(), [&](const std::string& text) { return text[0] != (*begin)[0]; });
    if (end - begin == 1) {
      add_alternative(made, literal(*begin));
    } else {
      Sequence shared = literal(begin->substr(0, 1));
      std::vector<std::string> rests;
      for (auto text = begin; text != end; ++text) rests.push_back(text->substr(1));
      shared.push_back(one_of(std::move(rests)));
      add_alternative(made, std::move(shared));
    }
    begin = end;
  }
  return made;
}

Sequence GrammarBuilder::literal(std::string_view bytes) {
  Sequence sequence;
  for (const char byte : bytes) {
    Grammar::ByteSet set;
    set.set(static_cast<unsigned char>(byte));
    sequence.push_back(byte_set(set));
  }
  return sequence;
}

Sequence GrammarBuilder::ids(std::span<const int> ids) {
  Sequence sequence;
  for (const int id : ids) sequence.push_back(any_id({id}));
  return sequence;
}

Symbol GrammarBuilder::any_id(std::vector<int> ids) {
  std::ranges::sort(ids);
  token_sets_.push_back(std::move(ids));
  return {Kind::tokens, static_cast<std::uint32_t>(token_sets_.size() - 1)};
}

Symbol GrammarBuilder::byte_set(const Grammar::ByteSet& set) {
  const auto [known, is_new] =
      known_byte_sets_.try_emplace(set.to_string(), static_cast<std::uint32_t>(byte_sets_.size()));
  if (is_new) byte_sets_.push_back(set);
  return {Kind::bytes, known->second};
}

namespace {

constexpr char32_t kLastCharacter = 0x10FFFF;

Grammar::ByteSet byte_range(unsigned first, unsigned last) {
  Grammar::ByteSet set;
  for (unsigned byte = first; byte <= last; ++byte) set.set(byte);
  return set;
}

// Sorted, joined, without surrogates, which are no characters.
GrammarBuilder::CharacterRanges tidy(GrammarBuilder::CharacterRanges ranges, bool negated) {
  std::ranges::sort(ranges);
  GrammarBuilder::CharacterRanges joined;
  for (const auto& [first, last] : ranges) {
    if (first > last) continue;
    if (!joined.empty() && first <= joined.back().second + 1)
      joined.back().second = std::max(joined.back().second, last);
    else
      joined.emplace_back(first, last);
  }
  if (negated) {
    GrammarBuilder::CharacterRanges others;
    char32_t next = 0;
    for (const auto& [first, last] : joined) {
      if (first > next) others.emplace_back(next, first - 1);
      next = last + 1;
    }
    if (next <= kLastCharacter) others.emplace_back(next, kLastCharacter);
    joined = std::move(others);
  }
  GrammarBuilder::CharacterRanges valid;
  for (const auto& [first, last] : joined) {
    const char32_t end = std::min(last, kLastCharacter);
    if (first <= std::min(end, char32_t{0xD7FF})) valid.emplace_back(first, std::min(end, char32_t{0xD7FF}));
    if (std::max(first, char32_t{0xE000}) <= end) valid.emplace_back(std::max(first, char32_t{0xE000}), end);
  }
  return valid;
}

}  // namespace

// Characters first..last, which take equally many bytes: cut until every byte but the last runs through all its values
// or through one.
void GrammarBuilder::add_utf8(char32_t first, char32_t last, Symbol into) {
  std::string low, high;
  append_utf8(first, low);
  append_utf8(last, high);
  for (std::size_t trailing = 1; trailing < low.size(); ++trailing) {
    const char32_t block = char32_t{1} << (6 * trailing);
    if (first / block == last / block) break;
    if (first % block != 0) {
      const char32_t cut = (first / block + 1) * block - 1;
      add_utf8(first, cut, into);
      return add_utf8(cut + 1, last, into);
    }
    if (last % block != block - 1) {
      const char32_t cut = last / block * block;
      add_utf8(first, cut - 1, into);
      return add_utf8(cut, last, into);
    }
  }
  Sequence sequence;
  for (std::size_t place = 0; place < low.size(); ++place)
    sequence.push_back(
        byte_set(byte_range(static_cast<unsigned char>(low[place]), static_cast<unsigned char>(high[place]))));
  add_alternative(into, std::move(sequence));
}

Symbol GrammarBuilder::characters(CharacterRanges ranges, bool negated) {
  const CharacterRanges valid = tidy(std::move(ranges), negated);
  Grammar::ByteSet ascii;
  const Symbol made = rule();
  for (auto [first, last] : valid) {
    for (; first <= std::min(last, char32_t{0x7F}); ++first) ascii.set(first);
    for (const char32_t border : {char32_t{0x7FF}, char32_t{0xFFFF}, kLastCharacter}) {
      if (first > last || first > border) continue;
      add_utf8(first, std::min(last, border), made);
      first = border + 1;
    }
  }
  if (ascii.any() && (valid.empty() || valid.back().second <= 0x7F)) return byte_set(ascii);
  if (ascii.any()) add_alternative(made, {byte_set(ascii)});
  return made;
}

Symbol GrammarBuilder::optional(Sequence sequence) { return choice({std::move(sequence), {}}); }

Sequence GrammarBuilder::repeat(Sequence sequence, int least, int most) {
  if (sequence.size() > 1) sequence = {choice({std::move(sequence)})};
  Sequence all;
  for (int count = 0; count < least && !too_large(); ++count) {
    size_ += sequence.size();
    all.insert(all.end(), sequence.begin(), sequence.end());
  }
  if (most < 0) {
    const Symbol more = rule();
    Sequence again = sequence;
    again.push_back(more);
    add_alternative(more, std::move(again));
    add_alternative(more, {});
    all.push_back(more);
    return all;
  }
  Sequence rest;
  for (int count = least; count < most && !too_large(); ++count) {
    Sequence one = sequence;
    one.insert(one.end(), rest.begin(), rest.end());
    rest = {optional(std::move(one))};
  }
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

}  // namespace sluice
