// See long_text.h.
#include "text/long_text.h"

#include "text/blanks.h"
#include "text/utf8.h"

namespace sluice {

Result<> cut_long_text(std::string_view text, const LongTextRule& rule,
                       FunctionRef<Result<>(std::string_view part)> part) {
  std::size_t begin = 0;  // of the part in hand
  std::size_t slice = 0;  // characters of the slice so far
  std::size_t run = 0;    // of these, how many at the end are of one kind
  bool run_is_space = false;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step character = utf8_step(text.substr(at));
    const bool is_space = is_python_space(character.value);
    const bool slice_full = slice == rule.slice;
    const bool run_goes_on = run > 0 && !slice_full && is_space == run_is_space;
    const bool run_full = run_goes_on && run == rule.run;
    if (slice_full || run_full) {
      TRY(part(text.substr(begin, at - begin)));
      begin = at;
    }
    slice = slice_full ? 1 : slice + 1;
    run = run_goes_on && !run_full ? run + 1 : 1;
    run_is_space = is_space;
    at += character.bytes;
  }
  if (begin < text.size()) TRY(part(text.substr(begin)));
  return {};
}

}  // namespace sluice
