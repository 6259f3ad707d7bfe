// See split_pattern.h.
#include "text/split_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

namespace sluice {

namespace {

std::string message_of(int code) {
  PCRE2_UCHAR text[256] = {};
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

// What one run over a text needs: where matches are written, and a stack for the compiled pattern, which grows on
// demand and is never a thread's own.
struct Workplace {
  static constexpr std::size_t kStackStart = 32 * 1024, kStackLimit = 8 * 1024 * 1024;

  explicit Workplace(const pcre2_code* code)
      : match(pcre2_match_data_create_from_pattern(code, nullptr)),
        context(pcre2_match_context_create(nullptr)),
        stack(pcre2_jit_stack_create(kStackStart, kStackLimit, nullptr)) {
    if (context != nullptr && stack != nullptr) pcre2_jit_stack_assign(context, nullptr, stack);
  }
  ~Workplace() {
    pcre2_match_data_free(match);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  pcre2_match_data* match;
  pcre2_match_context* context;
  pcre2_jit_stack* stack;
};

}  // namespace

void SplitPattern::Free::operator()(pcre2_code* code) const { pcre2_code_free(code); }

Result<SplitPattern> SplitPattern::compile(std::string_view pattern) {
  int problem = 0;
  std::size_t at = 0;
  // Anchored here and not when matching: the compiled form knows only the former.
  pcre2_code* const code =
      pcre2_compile(units(pattern), pattern.size(), PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &problem, &at, nullptr);
  if (code == nullptr)
    return fail(ErrorKind::bug, fmt::format("split pattern, offset {}: {}", at, message_of(problem)));
  SplitPattern compiled(code);
  // Where a system forbids code made at run time this fails, and the library interprets the pattern: same pieces.
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  return compiled;
}

Result<> SplitPattern::split(std::string_view text, FunctionRef<void(std::string_view piece)> piece) const {
  const Workplace work(code_.get());
  if (work.match == nullptr || work.context == nullptr || work.stack == nullptr)
    return fail(ErrorKind::refused, "no memory for splitting text into pieces");
  for (std::size_t begin = 0; begin < text.size();) {
    // Without NO_UTF_CHECK each call would check the whole rest again: quadratic.
    const int groups =
        pcre2_match(code_.get(), units(text), text.size(), begin, PCRE2_NO_UTF_CHECK, work.match, work.context);
    if (groups < 0 && groups != PCRE2_ERROR_NOMATCH)
      return fail(ErrorKind::bad_input,
                  fmt::format("the text cannot be split into pieces at byte {}: {}", begin, message_of(groups)));
    const std::size_t end = groups < 0 ? begin : pcre2_get_ovector_pointer(work.match)[1];
    if (end <= begin)
      return fail(ErrorKind::bug, fmt::format("the split pattern matches nothing at byte {} of the text", begin));
    piece(text.substr(begin, end - begin));
    begin = end;
  }
  return {};
}

std::uint64_t SplitPattern::resident_bytes() const {
  std::size_t pattern = 0, compiled = 0;
  pcre2_pattern_info(code_.get(), PCRE2_INFO_SIZE, &pattern);
  pcre2_pattern_info(code_.get(), PCRE2_INFO_JITSIZE, &compiled);
  return pattern + compiled;
}

}  // namespace sluice
