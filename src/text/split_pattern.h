// Cuts text into the pieces that byte-pair encoding works on, by a family's regular expressions (PCRE2).
//
// A pattern is matched again and again, each time where the last match ended. Where it is one pattern alone it must
// match something at every position: a gap or an empty match is an error, not a silent skip. Several patterns are
// steps: each cuts the pieces of the one before, sees nothing beside its piece, and what lies between two matches is a
// piece too. \p{..} classes and caseless matching follow the library's Unicode version. PCRE2 accepts notations of
// other engines (such as && in classes) with another meaning, so a pattern found in a file must never be compiled
// unseen: see regex_notation.h.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"

struct pcre2_real_code_8;  // pcre2_code of the 8-bit library

namespace sluice {

class SplitPattern {
 public:
  // A pattern that does not compile is a bug: patterns are ours.
  static Result<SplitPattern> compile(std::string_view pattern);
  // No step at all leaves the text whole.
  static Result<SplitPattern> compile_steps(std::span<const std::string> patterns);

  // Calls `piece` for each piece in order; together they are the text. Requires: well-formed UTF-8.
  // Thread-safe. An error if the library gives up on the text (its limits of memory or of steps).
  Result<> split(std::string_view text, FunctionRef<void(std::string_view piece)> piece) const;

  std::uint64_t resident_bytes() const;

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  struct Workplace;
  class Run;

  Result<> add(std::string_view pattern, bool anchored);

  std::vector<std::unique_ptr<pcre2_real_code_8, Free>> steps_;
  bool gaps_ = false;  // what no match covers is a piece
};

}  // namespace sluice
