// See tokenizer.h.
#include "models/kimi_k3/tokenizer.h"

#include <fmt/format.h>

#include "base/check.h"
#include "text/bpe_tokenizer.h"
#include "text/tiktoken_file.h"

namespace sluice::kimi_k3 {

std::string split_pattern() {
  // Two classes of the released pattern are intersections, [letters and marks of some case && not Han], which PCRE2
  // does not know. Every character is in exactly one of L, M, N, P, S, Z and C, so the same sets are the complements of
  // all the rest: one class each, matched without a step back for every letter. Other notations that differ: \s and \S
  // are White_Space, \p{Han} is the script itself (sc), not its extensions.
  const std::string not_lower = R"([^\p{sc:Han}\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}])";
  const std::string not_upper = R"([^\p{sc:Han}\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}])";
  const std::string lead = R"([^\r\n\p{L}\p{N}]?)";
  const std::string contraction = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?";
  const std::string alternatives[] = {
      R"(\p{sc:Han}+)",
      lead + not_lower + "*" + not_upper + "+" + contraction,
      lead + not_lower + "+" + not_upper + "*" + contraction,
      R"(\p{N}{1,3})",
      R"( ?[^\p{White_Space}\p{L}\p{N}]+[\r\n]*)",
      R"(\p{White_Space}*[\r\n]+)",
      R"re(\p{White_Space}+(?!\P{White_Space}))re",
      R"(\p{White_Space}+)",
  };
  std::string pattern;
  for (const std::string& alternative : alternatives) pattern += (pattern.empty() ? "" : "|") + alternative;
  return pattern;
}

namespace {

constexpr int kSpecials = 256;

// Spec section 5.5; the id is the number of ranks plus `offset`.
struct NamedSpecial {
  int offset;
  const char* spelling;
};
constexpr NamedSpecial kNamed[] = {
    {0, "[BOS]"},
    {1, "[EOS]"},
    {2, "<|end_of_msg|>"},
    {3, "<|open|>"},
    {4, "<|close|>"},
    {5, "<|sep|>"},
    {6, "[start_header_id]"},
    {7, "[end_header_id]"},
    {9, "[EOT]"},
    {18, "<|media_begin|>"},
    {19, "<|media_content|>"},
    {20, "<|media_end|>"},
    {21, "<|media_pad|>"},
    {65, "<osagent_mode>"},
    {254, "[UNK]"},
    {255, "[PAD]"},
};

Vocabulary special_tokens(int ranks) {
  Vocabulary specials;
  const NamedSpecial* named = kNamed;
  for (int offset = 0; offset < kSpecials; ++offset) {
    const bool has_name = named != std::end(kNamed) && named->offset == offset;
    // Unnamed ones are spelled with their own id.
    SLUICE_CHECK(specials.add(has_name ? named->spelling : fmt::format("<|reserved_token_{}|>", ranks + offset)));
    if (has_name) ++named;
  }
  specials.shrink();
  return specials;
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& directory, int vocab_size) {
  const std::string path = directory + "/tiktoken.model";
  TRY_TAKE(Vocabulary ranks, read_tiktoken_file(path));
  if (ranks.size() + kSpecials != vocab_size)
    return fail(ErrorKind::bad_input,
                fmt::format("{} holds {} entries, but config.json says vocab_size {}: {} entries and {} special tokens",
                            path, ranks.size(), vocab_size, vocab_size - kSpecials, kSpecials),
                "it is cut short or of another model: fetch both files again");
  TRY_TAKE(SplitPattern pattern, SplitPattern::compile(split_pattern()));
  Vocabulary specials = special_tokens(ranks.size());
  return std::make_unique<BpeTokenizer>(std::move(ranks), std::move(specials), std::move(pattern), LongTextRule{});
}

}  // namespace sluice::kimi_k3
