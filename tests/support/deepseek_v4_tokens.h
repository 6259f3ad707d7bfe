// A small vocabulary with DeepSeek-V4's split and its added tokens.
#pragma once

#include <memory>

#include "models/deepseek_v4/tokenizer.h"
#include "support/must.h"
#include "support/temp_dir.h"
#include "support/tokenizer_json.h"

namespace sluice::test {

inline const std::string kEos = "<｜end▁of▁sentence｜>";

inline std::vector<std::pair<std::string, bool>> deepseek_v4_added_tokens() {
  std::vector<std::pair<std::string, bool>> tokens = {
      {"<｜begin▁of▁sentence｜>", true}, {"<｜end▁of▁sentence｜>", true}, {"<｜▁pad▁｜>", true}};
  for (const char* text : {"<｜User｜>", "<｜Assistant｜>", "<|EOT|>", "<think>", "</think>", "｜DSML｜",
                           "<｜latest_reminder｜>", "<｜action｜>", "<｜query｜>", "<｜authority｜>", "<｜domain｜>",
                           "<｜title｜>", "<｜read_url｜>", "<dsml:", "</dsml:"})
    tokens.emplace_back(text, false);
  return tokens;
}

inline std::unique_ptr<Tokenizer> deepseek_v4_tokenizer() {
  TokenizerJson file = {.added = deepseek_v4_added_tokens(), .splits = kDeepSeekSplits, .merges_as_pairs = true};
  // Each word grows from the left.
  for (const std::string word :
       {"You", " are", " a", " helpful", " assistant", ".\n", "What", " is", "\u4f60\u597d", "\u63a8\u7406",
        "\u7b54\u6848", "tool", "_c", "\xe4\xbd", "\n\n", "\">\n\n", ">\n", "</", "=\""})
    for (std::size_t size = 1; size < word.size(); ++size)
      if (const std::pair<std::string, std::string> merge = {word.substr(0, size), word.substr(size, 1)};
          std::find(file.merges.begin(), file.merges.end(), merge) == file.merges.end())
        file.merges.push_back(merge);
  const TempDir directory;
  file.write(directory.path());
  return must(deepseek_v4::open_tokenizer(directory.path(), file.tokens()));
}

}  // namespace sluice::test
