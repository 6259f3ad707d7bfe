// Kimi K3's tokenizer: tiktoken.model, the split pattern and the special tokens of spec section 5.
#pragma once

#include <memory>
#include <string>

#include "text/tokenizer.h"

namespace sluice::kimi_k3 {

// The split pattern of spec section 5.3, in PCRE2's notation.
std::string split_pattern();

// Reads `directory`/tiktoken.model. The 256 special tokens follow the file's entries. A file with one entry more or
// less would give every one of them another id, so together they must be vocab_size, as config.json says (bad_input).
Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& directory, int vocab_size);

}  // namespace sluice::kimi_k3
