// A tokenizer made of a vocabulary of ranks, a split pattern, special tokens and the rule for very long text.
//
// Ids 0 .. ranks-1 are the entries of the vocabulary, the special tokens follow. A text goes through four steps: cut if
// it is very long; found special spellings are taken out where they are to be tokens; the rest is split into pieces;
// each piece is encoded. That is the order of the release.
#pragma once

#include <memory>

#include "text/long_text.h"
#include "text/spelling_finder.h"
#include "text/split_pattern.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

namespace sluice {

class Bpe;

class BpeTokenizer final : public Tokenizer {
 public:
  // `specials`: their spellings in the order of their ids. Requires: every single byte is an entry of `ranks`.
  BpeTokenizer(Vocabulary ranks, Vocabulary specials, SplitPattern pattern, LongTextRule rule);

  int vocab_size() const override { return ranks_.size() + specials_.size(); }
  Result<std::vector<int>> encode(std::string_view text, SpecialSpelling spelling) const override;
  std::string_view bytes(int id) const override;
  bool is_special(int id) const override { return id >= ranks_.size(); }
  bool is_shown(int id) const override { return !is_special(id); }
  int special_id(std::string_view spelling) const override;
  std::uint64_t resident_bytes() const override;

 private:
  Result<> encode_text(std::string_view text, Bpe& bpe, std::vector<int>& ids) const;
  Result<> encode_specials(std::string_view text, Bpe& bpe, std::vector<int>& ids) const;

  Vocabulary ranks_, specials_;
  SpellingFinder finder_;  // of the special tokens
  SplitPattern pattern_;
  LongTextRule rule_;
};

}  // namespace sluice
