// OLMoE's tokenizer: tokenizer.json beside the weights (spec section 4).
#pragma once

#include <memory>
#include <string>

#include "text/tokenizer.h"

namespace sluice::olmoe {

inline constexpr const char* kTokenizerFile = "tokenizer.json";

// `vocab_size` as config.json says: the last rows of the embedding have no token.
Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& directory, int vocab_size);

}  // namespace sluice::olmoe
