// Text to token ids and back.
//
// An id stands for a fixed string of bytes. Ids of special tokens stand for their spelling, but text never becomes one
// unless the caller says so: whoever wrote the text must not be able to write the structure around it.
// Immutable after it is opened: any thread may use it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice {

// What the spelling of a special token in a text means.
enum class SpecialSpelling {
  text,   // ordinary text, as everything a user, a document or a tool wrote
  token,  // the token; for text that is trusted
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Ids are 0 .. vocab_size()-1, special tokens included.
  virtual int vocab_size() const = 0;
  // Nothing is prepended. Text that is not UTF-8 is refused (bad_input, names the byte).
  virtual Result<std::vector<int>> encode(std::string_view text, SpecialSpelling spelling) const = 0;
  // The bytes of a token, which may begin or end inside a character. Requires: 0 <= id < vocab_size().
  virtual std::string_view bytes(int id) const = 0;
  // Never made of text, only where SpecialSpelling::token allows it.
  virtual bool is_special(int id) const = 0;
  // Whether a reader of raw output sees the token: false for special tokens that are markup and nothing else.
  virtual bool is_shown(int id) const = 0;
  // The id of a special token, or -1.
  virtual int special_id(std::string_view spelling) const = 0;
  // Memory this tokenizer holds, for the memory plan.
  virtual std::uint64_t resident_bytes() const = 0;
};

}  // namespace sluice
