// Unwraps a Result where a test cannot go on without it: throws the sentence, which gtest prints.
#pragma once

#include <stdexcept>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace sluice::test {

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().what + " / " + result.error().hint);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace sluice::test
