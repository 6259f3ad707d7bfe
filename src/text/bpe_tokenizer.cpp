// See bpe_tokenizer.h.
#include "text/bpe_tokenizer.h"

#include "base/check.h"
#include "text/bpe.h"
#include "text/utf8.h"

namespace sluice {

BpeTokenizer::BpeTokenizer(Vocabulary ranks, Vocabulary specials, SplitPattern pattern, LongTextRule rule)
    : ranks_(std::move(ranks)), specials_(std::move(specials)), pattern_(std::move(pattern)), rule_(rule) {
  for (int special = 0; special < specials_.size(); ++special)
    finder_.add(specials_.bytes(special), ranks_.size() + special);
}

Result<std::vector<int>> BpeTokenizer::encode(std::string_view text, SpecialSpelling spelling) const {
  TRY(require_utf8(text));
  std::vector<int> ids;
  const RankRules rules(ranks_);
  Bpe bpe(rules);
  TRY(cut_long_text(text, rule_, [&](std::string_view part) {
    return spelling == SpecialSpelling::token ? encode_specials(part, bpe, ids) : encode_text(part, bpe, ids);
  }));
  return ids;
}

Result<> BpeTokenizer::encode_text(std::string_view text, Bpe& bpe, std::vector<int>& ids) const {
  return pattern_.split(text, [&](std::string_view piece) { bpe.encode(piece, ids); });
}

// Text before, between and behind special tokens is split by itself: the pattern does not see past them.
Result<> BpeTokenizer::encode_specials(std::string_view text, Bpe& bpe, std::vector<int>& ids) const {
  for (std::size_t begin = 0; begin < text.size();) {
    const SpellingFinder::Found found = finder_.find(text, begin);
    TRY(encode_text(text.substr(begin, found.begin - begin), bpe, ids));
    if (found.begin == std::string_view::npos) break;
    ids.push_back(found.id);
    begin = found.end;
  }
  return {};
}

std::string_view BpeTokenizer::bytes(int id) const {
  SLUICE_CHECK(id >= 0 && id < vocab_size());
  return is_special(id) ? specials_.bytes(id - ranks_.size()) : ranks_.bytes(id);
}

int BpeTokenizer::special_id(std::string_view spelling) const { return finder_.id_of(spelling); }

std::uint64_t BpeTokenizer::resident_bytes() const {
  return sizeof *this + ranks_.resident_bytes() + specials_.resident_bytes() + finder_.resident_bytes() +
         pattern_.resident_bytes();
}

}  // namespace sluice
