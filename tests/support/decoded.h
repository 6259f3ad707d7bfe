// Ids as the bytes that they stand for.
#pragma once

#include <span>
#include <string>

#include "text/tokenizer.h"

namespace sluice::test {

inline std::string decoded(const Tokenizer& tokenizer, std::span<const int> ids) {
  std::string text;
  for (const int id : ids) text += tokenizer.bytes(id);
  return text;
}

}  // namespace sluice::test
