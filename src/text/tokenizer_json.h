// The file `tokenizer.json` of the package tokenizers: byte-level byte-pair encoding. Everything that changes ids and
// is not known here is refused by name; a post-processor is not looked at, since nothing is ever put before a text.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/tokenizer.h"

namespace sluice {

// What the file's ByteLevel splits with when it says use_regex.
inline constexpr std::string_view kByteLevelSplit =
    R"re('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)re";

// `vocab_size`: rows of the embedding, as config.json says. A released one has some more rows than tokens; a file with
// more tokens than rows, or far fewer, is of another model (bad_input). A damaged file: bad_input. Something the reader
// does not know: unsupported, names what and where.
Result<std::unique_ptr<Tokenizer>> open_tokenizer_json(const std::string& path, int vocab_size);

}  // namespace sluice
