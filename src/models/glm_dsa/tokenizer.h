// The tokenizer of GLM-5.2 and its siblings: tokenizer.json beside the weights (spec section 7).
#pragma once

#include <memory>
#include <string>

#include "text/tokenizer.h"

namespace sluice::glm_dsa {

inline constexpr const char* kTokenizerFile = "tokenizer.json";

// `vocab_size` as config.json says: the last rows of the embedding have no token.
Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& directory, int vocab_size);

}  // namespace sluice::glm_dsa
