// See bpe_tokenizer.h.
#include "text/bpe_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "text/bpe.h"
#include "text/utf8.h"

namespace sluice {

BpeTokenizer::BpeTokenizer(Vocabulary ranks, Vocabulary specials, SplitPattern pattern, LongTextRule rule)
    : ranks_(std::move(ranks)), specials_(std::move(specials)), pattern_(std::move(pattern)), rule_(rule) {
  for (int special = 0; special < specials_.size(); ++special) {
    const std::string_view spelling = specials_.bytes(special);
    if (special_starts_.find(spelling.front()) == std::string::npos) special_starts_ += spelling.front();
    special_lengths_.push_back(spelling.size());
  }
  std::ranges::sort(special_lengths_, std::greater<>());
  special_lengths_.erase(std::unique(special_lengths_.begin(), special_lengths_.end()), special_lengths_.end());
}

Result<std::vector<int>> BpeTokenizer::encode(std::string_view text, SpecialSpelling spelling) const {
  if (const std::size_t at = find_invalid_utf8(text); at != std::string_view::npos)
    return fail(ErrorKind::bad_input,
                fmt::format("the text is not UTF-8: byte {} (0x{:02x}) begins no whole character", at,
                            static_cast<unsigned char>(text[at])),
                "convert it to UTF-8 first");
  std::vector<int> ids;
  Bpe bpe(ranks_);
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
    const FoundSpecial found = find_special(text, begin);
    TRY(encode_text(text.substr(begin, found.begin - begin), bpe, ids));
    if (found.begin == std::string_view::npos) break;
    ids.push_back(found.id);
    begin = found.end;
  }
  return {};
}

BpeTokenizer::FoundSpecial BpeTokenizer::find_special(std::string_view text, std::size_t from) const {
  for (std::size_t begin = from; (begin = text.find_first_of(special_starts_, begin)) != std::string_view::npos;
       ++begin)
    for (const std::size_t length : special_lengths_) {
      if (length > text.size() - begin) continue;
      const int special = specials_.find(text.substr(begin, length));
      if (special >= 0) return {begin, begin + length, ranks_.size() + special};
    }
  return {std::string_view::npos, std::string_view::npos, -1};
}

std::string_view BpeTokenizer::bytes(int id) const {
  SLUICE_CHECK(id >= 0 && id < vocab_size());
  return is_special(id) ? specials_.bytes(id - ranks_.size()) : ranks_.bytes(id);
}

int BpeTokenizer::special_id(std::string_view spelling) const {
  const int special = specials_.find(spelling);
  return special < 0 ? -1 : ranks_.size() + special;
}

std::uint64_t BpeTokenizer::resident_bytes() const {
  return sizeof *this + ranks_.resident_bytes() + specials_.resident_bytes() + pattern_.resident_bytes();
}

}  // namespace sluice
