// DeepSeek-V4's tokenizer: tokenizer.json beside the weights, the same for Flash and Pro (spec section 5).
#pragma once

#include <memory>
#include <string>

#include "text/tokenizer.h"

namespace sluice::deepseek_v4 {

inline constexpr const char* kTokenizerFile = "tokenizer.json";

// `vocab_size` as config.json says: the last rows of the embedding have no token.
Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& directory, int vocab_size);

}  // namespace sluice::deepseek_v4
