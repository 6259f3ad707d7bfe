// See tokenizer.h.
#include "models/deepseek_v4/tokenizer.h"

#include "text/tokenizer_json.h"

namespace sluice::deepseek_v4 {

Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& directory, int vocab_size) {
  return open_tokenizer_json(directory + "/" + kTokenizerFile, vocab_size);
}

}  // namespace sluice::deepseek_v4
