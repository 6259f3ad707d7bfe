// A flag whose value is one of a few words.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace sluice::cli {

// What a word stands for. None of them: "FLAG: 'WORD' `problem`", and which there are.
template <class Meaning>
Result<Meaning> choose(std::string_view flag, const std::string& word, std::string_view problem,
                       std::initializer_list<std::pair<std::string_view, Meaning>> choices) {
  std::string all;
  std::size_t left = choices.size();
  for (const auto& choice : choices) {
    if (choice.first == word) return choice.second;
    all += all.empty() ? "" : left == 1 ? " or " : ", ";
    all += choice.first;
    --left;
  }
  return fail(ErrorKind::usage, fmt::format("{}: '{}' {}", flag, word, problem), "say " + all);
}

}  // namespace sluice::cli
