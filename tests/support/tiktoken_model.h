// Vocabulary files for tests: tiktoken.model with entries of one's choice, or with what is known of the released one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::test {

// The 256 single bytes in the order of released vocabularies: printable ones first, so '!' is 0 and space 220.
std::vector<std::string> single_bytes();

// 163,584 entries, as many as Kimi K3's: where the id of a token of the released vocabulary is known from published
// encodings it is that token; everything else is bytes that occur in no text, except for a few prefixes that let the
// known tokens of longer pieces be merged.
std::vector<std::string> released_entries();

std::string base64(const std::string& bytes);
// One entry a line, its rank behind it.
std::string tiktoken_lines(const std::vector<std::string>& entries);
// Writes `directory`/tiktoken.model.
void write_tiktoken_model(const std::filesystem::path& directory, const std::vector<std::string>& entries);

}  // namespace sluice::test
