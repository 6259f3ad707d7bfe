// tokenizer.json files for tests: byte-level byte-pair encodings with tokens, merges and a split of one's choice.
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/tiktoken_model.h"
#include "text/byte_alphabet.h"

namespace sluice::test {

inline const std::string kGlmSplit =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
// The class of Han and kana is spelled with the redundant ranges of the released file's kind.
inline const std::vector<std::string> kDeepSeekSplits = {
    R"re(\p{N}{1,3})re", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    R"re([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re"};

struct TokenizerJson {
  using Json = nlohmann::ordered_json;

  // 256 single bytes in the order of released vocabularies, from id `first` on, then the merged tokens.
  std::vector<std::pair<std::string, std::string>> merges = {};  // bytes of the two
  std::vector<std::string> whole = {};                           // tokens that no merge makes
  std::vector<std::pair<std::string, bool>> added = {};          // text, and whether it is special; after the others
  std::vector<std::string> splits = {};                          // empty: ByteLevel's own
  bool nfc = false, ignore_merges = false, merges_as_pairs = false, added_normalized = false;

  Json json() const {
    Json vocab = Json::object(), merge_list = Json::array(), added_list = Json::array();
    int next = 0;
    const auto token = [&](const std::string& bytes) {
      const std::string spelling = write_byte_alphabet(bytes);
      if (!vocab.contains(spelling)) vocab[spelling] = next++;
    };
    for (const std::string& byte : single_bytes()) token(byte);
    for (const auto& [left, right] : merges) {
      token(left + right);
      const std::string a = write_byte_alphabet(left), b = write_byte_alphabet(right);
      merge_list.push_back(merges_as_pairs ? Json{a, b} : Json(a + " " + b));
    }
    for (const std::string& bytes : whole) token(bytes);
    for (const auto& [text, special] : added)
      added_list.push_back({{"id", next++},
                            {"content", text},
                            {"single_word", false},
                            {"lstrip", false},
                            {"rstrip", false},
                            {"normalized", added_normalized && !special},
                            {"special", special}});
    Json model = {{"type", "BPE"}, {"dropout", nullptr}, {"unk_token", nullptr}, {"byte_fallback", false}};
    if (ignore_merges) model["ignore_merges"] = true;
    model["vocab"] = vocab;
    model["merges"] = merge_list;
    return {{"version", "1.0"},
            {"added_tokens", added_list},
            {"normalizer", nfc ? Json{{"type", "NFC"}} : Json()},
            {"pre_tokenizer", split_json()},
            {"post_processor", byte_level(true)},
            {"decoder", byte_level(true)},
            {"model", model}};
  }
  int tokens() const {
    const Json whole_file = json();
    return static_cast<int>(whole_file["model"]["vocab"].size() + whole_file["added_tokens"].size());
  }
  void write(const std::filesystem::path& directory) const { std::ofstream(directory / "tokenizer.json") << json(); }

 private:
  static Json byte_level(bool use_regex) {
    return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", use_regex}};
  }
  Json split_json() const {
    if (splits.empty()) return byte_level(true);
    Json steps = Json::array();
    for (const std::string& split : splits)
      steps.push_back(
          {{"type", "Split"}, {"pattern", {{"Regex", split}}}, {"behavior", "Isolated"}, {"invert", false}});
    steps.push_back(byte_level(false));
    return {{"type", "Sequence"}, {"pretokenizers", steps}};
  }
};

// Added tokens as GLM-5.2 has them, in the order of their ids.
inline std::vector<std::pair<std::string, bool>> glm_added_tokens() {
  std::vector<std::pair<std::string, bool>> tokens;
  for (const char* text : {"<|endoftext|>",
                           "[MASK]",
                           "[gMASK]",
                           "[sMASK]",
                           "<sop>",
                           "<eop>",
                           "<|system|>",
                           "<|user|>",
                           "<|assistant|>",
                           "<|observation|>",
                           "<|begin_of_image|>",
                           "<|end_of_image|>",
                           "<|begin_of_video|>",
                           "<|end_of_video|>",
                           "<|begin_of_audio|>",
                           "<|end_of_audio|>",
                           "<|begin_of_transcription|>",
                           "<|end_of_transcription|>",
                           "<|code_prefix|>",
                           "<|code_middle|>",
                           "<|code_suffix|>"})
    tokens.emplace_back(text, true);
  for (const char* text : {"<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>",
                           "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "/nothink", "<|begin_of_box|>",
                           "<|end_of_box|>", "<|image|>", "<|video|>"})
    tokens.emplace_back(text, false);
  return tokens;
}

}  // namespace sluice::test
