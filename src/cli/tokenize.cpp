// sluice tokenize MODEL: text to token ids and back. Needs config.json and the tokenizer's file, no weights.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/console.h"
#include "engine/survey.h"
#include "text/utf8_stream.h"

namespace sluice::cli {

namespace {

struct TokenizeFlags {
  std::string model, text, json;
  std::vector<int> decode;
  bool has_text = false, has_decode = false, special = false;
};

Result<std::vector<int>> ids_of(const TokenizeFlags& flags, const Tokenizer& tokenizer) {
  if (flags.has_decode) {
    for (const int id : flags.decode)
      if (id < 0 || id >= tokenizer.vocab_size())
        return fail(ErrorKind::bad_input, fmt::format("--decode: {} is no token id", id),
                    fmt::format("ids are 0 to {}", tokenizer.vocab_size() - 1));
    return flags.decode;
  }
  const std::string text =
      flags.has_text ? flags.text
                     : std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  return tokenizer.encode(text, flags.special ? SpecialSpelling::token : SpecialSpelling::text);
}

std::string readable(std::string_view bytes) {
  Utf8Stream stream;
  std::string text = stream.push(bytes);
  return text + stream.finish();
}

// `pieces` are the tokens as text, where a part of a character is U+FFFD; `bytes` are exact, in hexadecimal digits.
nlohmann::json tokens_json(const std::vector<int>& ids, const Tokenizer& tokenizer) {
  nlohmann::json pieces = nlohmann::json::array(), bytes = nlohmann::json::array();
  std::string text;
  for (const int id : ids) {
    const std::string_view token = tokenizer.bytes(id);
    text += token;
    pieces.push_back(readable(token));
    std::string digits;
    for (const char byte : token) digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    bytes.push_back(digits);
  }
  return {{"ids", ids}, {"count", ids.size()}, {"text", readable(text)}, {"pieces", pieces}, {"bytes", bytes}};
}

void print_tokens(const TokenizeFlags& flags, const std::vector<int>& ids, const Tokenizer& tokenizer) {
  if (!flags.has_decode) return fmt::print("{}\n", fmt::join(ids, ","));
  // The bytes and nothing else, so that a file comes back as it was; a terminal gets its line end.
  for (const int id : ids) std::fwrite(tokenizer.bytes(id).data(), 1, tokenizer.bytes(id).size(), stdout);
  if (::isatty(STDOUT_FILENO) == 1) std::fputc('\n', stdout);
}

Result<> tokenize(const TokenizeFlags& flags) {
  TRY_TAKE(const KnownModel model, know_model(flags.model));
  TRY_TAKE(const Tokenizer* const tokenizer, need_tokenizer(model));
  TRY_TAKE(const std::vector<int> ids, ids_of(flags, *tokenizer));
  if (flags.json != "-") print_tokens(flags, ids, *tokenizer);
  return flags.json.empty() ? Result<>{} : write_json(flags.json, tokens_json(ids, *tokenizer));
}

}  // namespace

void add_tokenize(CLI::App& app, Chosen& chosen) {
  const auto flags = std::make_shared<TokenizeFlags>();
  CLI::App* const command = app.add_subcommand("tokenize", "Text to token ids and back");
  command->add_option("MODEL", flags->model, "Directory with config.json and the tokenizer's file")->required();
  CLI::Option* const text =
      command->add_option("--text", flags->text, "The text; without it, standard input")->type_name("TEXT");
  CLI::Option* const decode = command->add_option("--decode", flags->decode, "Token ids to turn into text: 1,2,3")
                                  ->delimiter(',')
                                  ->type_name("IDS")
                                  ->excludes(text);
  command->add_flag("--special", flags->special, "Spellings of special tokens in the text are those tokens")
      ->excludes(decode);
  command->add_option("--json", flags->json, "Write ids, pieces and bytes to this file; - is standard output")
      ->type_name("FILE");
  command->callback([flags, text, decode, &chosen] {
    flags->has_text = text->count() > 0;
    flags->has_decode = decode->count() > 0;
    chosen = [flags] { return tokenize(*flags); };
  });
}

}  // namespace sluice::cli
