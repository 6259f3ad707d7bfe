// The one way a function of sluice says that it could not do its work.
//
// An Error is a sentence for a person (`what`: names the file, tensor, field or request) and advice (`hint`: what to do
// about it, may be empty). Its kind alone decides the exit code of the program and the status of an HTTP answer.
// Exceptions are not used; a third-party call that throws is caught in the file that makes it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace sluice {

enum class ErrorKind { usage, bad_input, unsupported, refused, corrupt, io, cancelled, bug };

struct [[nodiscard]] Error {
  ErrorKind kind = ErrorKind::bug;
  std::string what;
  std::string hint = {};

  // Says where it happened: "layer 37: " is put before the sentence.
  Error within(std::string_view where) && {
    what = std::string(where) + ": " + what;
    return std::move(*this);
  }
};

template <class T = void>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorKind kind, std::string what, std::string hint = {}) {
  return tl::unexpected<Error>(Error{kind, std::move(what), std::move(hint)});
}

// The fate of each kind: exit code of the program, status of an HTTP answer.
struct ErrorFate {
  int exit_code;
  int http_status;
};
constexpr ErrorFate fate(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return {2, 400};
    case ErrorKind::bad_input:
      return {1, 400};
    case ErrorKind::unsupported:
      return {1, 422};
    case ErrorKind::refused:
      return {3, 503};
    case ErrorKind::corrupt:
      return {4, 500};
    case ErrorKind::io:
      return {4, 500};
    case ErrorKind::cancelled:
      return {130, 499};
    case ErrorKind::bug:
      return {70, 500};
  }
  return {70, 500};
}

}  // namespace sluice

#define SLUICE_CONCAT2(a, b) a##b
#define SLUICE_CONCAT(a, b) SLUICE_CONCAT2(a, b)
#define SLUICE_TAKE(result, declaration, expression)                              \
  auto result = (expression);                                                     \
  if (!result) return tl::unexpected<::sluice::Error>(std::move(result.error())); \
  declaration = std::move(*result)

// TRY(expression): returns the error of a Result<...> from the current function, or goes on.
#define TRY(...)                                                             \
  do {                                                                       \
    if (auto try_result = (__VA_ARGS__); !try_result)                        \
      return tl::unexpected<::sluice::Error>(std::move(try_result.error())); \
  } while (false)

// TRY_TAKE(Type name, expression): the same, and keeps the value. (__COUNTER__: __LINE__ repeats inside one macro.)
#define TRY_TAKE(declaration, ...) SLUICE_TAKE(SLUICE_CONCAT(taken_, __COUNTER__), declaration, (__VA_ARGS__))
