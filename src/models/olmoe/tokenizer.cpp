// See tokenizer.h.
#include "models/olmoe/tokenizer.h"

#include "text/tokenizer_json.h"

namespace sluice::olmoe {

Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& directory, int vocab_size) {
  return open_tokenizer_json(directory + "/" + kTokenizerFile, vocab_size);
}

}  // namespace sluice::olmoe
