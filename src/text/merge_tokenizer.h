// A tokenizer as tokenizer.json describes it: tokens with ids of any order, a list of merges, added tokens, a normal
// form and a split into pieces.
//
// A text goes through five steps, as in the package that the file is made for: added tokens are found in the raw text;
// what is between them is brought to its normal form; added tokens that are sought there are found; the rest is split
// into pieces; each piece is merged. The ids of the first steps cut the text: a piece never reaches past them.
//
// Added tokens are special, that is, never made of text, whatever the file calls them: `<think>` is "not special" in
// the file and steers the model all the same. Only runs of blanks are ordinary text with an id of their own.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "text/bpe.h"
#include "text/merge_table.h"
#include "text/spelling_finder.h"
#include "text/split_pattern.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

namespace sluice {

struct AddedToken {
  int id = 0;
  std::string text = {};
  bool special = false;     // as the file says: not shown to readers
  bool normalized = false;  // sought in the normal form, else in the raw text
};

struct MergeParts {
  Vocabulary entries = {};          // the bytes of ordinary tokens
  std::vector<int> entry_ids = {};  // by their numbers
  MergeTable merges = {};
  std::vector<AddedToken> added = {};
  SplitPattern pattern = {};
  bool nfc = false;            // the normal form is C, else the text as it is
  bool ignore_merges = false;  // a piece that is a token is that token, even if merges lead elsewhere
  int vocab_size = 0;          // ids without a token are special, have no bytes and are not shown
};

// True if text never becomes this token.
bool is_control(const AddedToken& token);

class MergeTokenizer final : public Tokenizer, private BpeRules {
 public:
  // Requires: no id twice, all below vocab_size; every single byte is an entry.
  explicit MergeTokenizer(MergeParts parts);

  int vocab_size() const override { return parts_.vocab_size; }
  Result<std::vector<int>> encode(std::string_view text, SpecialSpelling spelling) const override;
  std::string_view bytes(int id) const override;
  bool is_special(int id) const override;
  bool is_shown(int id) const override;
  int special_id(std::string_view spelling) const override;
  std::uint64_t resident_bytes() const override;

 private:
  class Encoding;
  // By where a spelling is sought: [0] in the raw text, [1] in its normal form.
  using Finders = std::array<SpellingFinder, 2>;

  int whole(std::string_view piece) const override;
  int byte(unsigned char value) const override { return byte_ids_[value]; }
  Joined join(int left, int right, std::string_view both) const override;
  const AddedToken* added(int id) const;

  MergeParts parts_;
  std::vector<int> places_;  // by id: the number of an entry, or ~index of an added token, or kNoToken
  std::array<int, 256> byte_ids_{};
  Finders text_, all_;  // what is found where spellings of control tokens are text, and where they are tokens
};

}  // namespace sluice
