// Kimi K3's tokenizer with a vocabulary of the release's size, and what ends its messages.
#pragma once

#include <memory>
#include <string>

#include "models/kimi_k3/tokenizer.h"
#include "support/must.h"
#include "support/temp_dir.h"
#include "support/tiktoken_model.h"

namespace sluice::test {

inline const std::string kKimiK3MessageEnd = "<|close|>message<|sep|><|end_of_msg|>";

inline std::unique_ptr<Tokenizer> kimi_k3_tokenizer(const std::vector<std::string>& entries) {
  const TempDir directory;
  write_tiktoken_model(directory.path(), entries);
  return must(kimi_k3::open_tokenizer(directory.path(), static_cast<int>(entries.size()) + 256));
}

inline const Tokenizer& released_kimi_k3_tokenizer() {
  static const std::unique_ptr<Tokenizer> tokenizer = kimi_k3_tokenizer(released_entries());
  return *tokenizer;
}

}  // namespace sluice::test
