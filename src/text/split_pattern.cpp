// See split_pattern.h.
#include "text/split_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include "base/out_of_memory.h"

namespace sluice {

namespace {

constexpr const char* kSplitting = "splitting text into pieces";  // memory that is refused

std::string message_of(int code) {
  PCRE2_UCHAR text[256] = {};
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

void SplitPattern::Free::operator()(pcre2_code* code) const { pcre2_code_free(code); }

Result<SplitPattern> SplitPattern::compile(std::string_view pattern) {
  SplitPattern compiled;
  TRY(compiled.add(pattern, true));
  return compiled;
}

Result<SplitPattern> SplitPattern::compile_steps(std::span<const std::string> patterns) {
  SplitPattern compiled;
  compiled.gaps_ = true;
  for (const std::string& pattern : patterns) TRY(compiled.add(pattern, false));
  return compiled;
}

Result<> SplitPattern::add(std::string_view pattern, bool anchored) {
  int problem = 0;
  std::size_t at = 0;
  // Anchored here and not when matching: the compiled form knows only the former.
  pcre2_code* const code = pcre2_compile(
      units(pattern), pattern.size(), PCRE2_UTF | PCRE2_UCP | (anchored ? PCRE2_ANCHORED : 0u), &problem, &at, nullptr);
  if (code == nullptr && problem == PCRE2_ERROR_HEAP_FAILED) refuse_memory(0, kSplitting);
  if (code == nullptr)
    return fail(ErrorKind::bug, fmt::format("split pattern, offset {}: {}", at, message_of(problem)));
  steps_.emplace_back(code);
  std::uint32_t may_be_empty = 0;
  pcre2_pattern_info(code, PCRE2_INFO_MATCHEMPTY, &may_be_empty);
  if (!anchored && may_be_empty != 0) return fail(ErrorKind::bug, "split pattern: it matches where nothing is");
  // Where a system forbids code made at run time this fails, and the library interprets the pattern: same pieces.
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  return {};
}

// What one run over a text needs: where matches are written, and a stack for the compiled pattern, which grows on
// demand and is never a thread's own.
struct SplitPattern::Workplace {
  static constexpr std::size_t kStackStart = 32 * 1024, kStackLimit = 8 * 1024 * 1024;

  Workplace()
      : match(pcre2_match_data_create(1, nullptr)),  // where the match begins and ends; groups are of no interest
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

// One text on its way through the steps.
class SplitPattern::Run {
 public:
  Run(const SplitPattern& pattern, FunctionRef<void(std::string_view piece)> piece)
      : pattern_(pattern), piece_(piece) {}

  Result<> step(std::size_t number, std::string_view text) {
    if (number == pattern_.steps_.size()) {
      if (!text.empty()) piece_(text);
      return {};
    }
    if (work_.match == nullptr || work_.context == nullptr || work_.stack == nullptr) refuse_memory(0, kSplitting);
    for (std::size_t begin = 0; begin < text.size();) {
      TRY_TAKE(const Match found, match(number, text, begin));
      if (found.begin > begin) {
        if (!pattern_.gaps_) return no_match(begin);
        TRY(step(number + 1, text.substr(begin, found.begin - begin)));
      }
      if (found.begin == text.size()) break;
      if (found.end <= found.begin) return no_match(found.begin);
      TRY(step(number + 1, text.substr(found.begin, found.end - found.begin)));
      begin = found.end;
    }
    return {};
  }

 private:
  struct Match {
    std::size_t begin, end;  // both the text's size: none
  };
  Result<Match> match(std::size_t number, std::string_view text, std::size_t from) {
    // Without NO_UTF_CHECK each call would check the whole rest again: quadratic.
    const int groups = pcre2_match(pattern_.steps_[number].get(), units(text), text.size(), from, PCRE2_NO_UTF_CHECK,
                                   work_.match, work_.context);
    if (groups == PCRE2_ERROR_NOMATCH) return Match{text.size(), text.size()};
    if (groups == PCRE2_ERROR_NOMEMORY) refuse_memory(0, kSplitting);
    if (groups < 0)
      return fail(ErrorKind::bad_input,
                  fmt::format("the text cannot be split into pieces at byte {}: {}", from, message_of(groups)));
    const PCRE2_SIZE* const ends = pcre2_get_ovector_pointer(work_.match);
    return Match{ends[0], ends[1]};
  }
  static tl::unexpected<Error> no_match(std::size_t at) {
    return fail(ErrorKind::bug, fmt::format("the split pattern matches nothing at byte {} of the text", at));
  }

  const SplitPattern& pattern_;
  FunctionRef<void(std::string_view piece)> piece_;
  Workplace work_;
};

Result<> SplitPattern::split(std::string_view text, FunctionRef<void(std::string_view piece)> piece) const {
  return Run(*this, piece).step(0, text);
}

std::uint64_t SplitPattern::resident_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& step : steps_) {
    std::size_t pattern = 0, compiled = 0;
    pcre2_pattern_info(step.get(), PCRE2_INFO_SIZE, &pattern);
    pcre2_pattern_info(step.get(), PCRE2_INFO_JITSIZE, &compiled);
    bytes += pattern + compiled;
  }
  return bytes;
}

}  // namespace sluice
