// What tokenizer.json does with a text before merging: its normal form and its split into pieces.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace simdjson::dom {
class object;
}

namespace sluice {

struct TextSteps {
  bool nfc = false;
  std::vector<std::string> patterns = {};  // in PCRE2's notation, one after another
};

// From `normalizer`, `pre_tokenizer` and `decoder`. Anything but NFC, Split that isolates matches, and ByteLevel:
// unsupported, by name.
Result<TextSteps> read_text_steps(const simdjson::dom::object& root, const std::string& path);

}  // namespace sluice
