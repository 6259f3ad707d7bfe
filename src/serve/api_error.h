// A request that cannot be answered, in the shape OpenAI's clients know: {"error": {message, type, param, code}}.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tl/expected.hpp>

#include "base/result.h"
#include "serve/http.h"

namespace sluice::serve {

struct ApiError {
  int status = 400;
  std::string message;
  std::string param = {};  // the field that is wrong: "messages[2].content"; may be empty
  std::string code = {};   // a word for programs; may be empty
};

template <class T>
using ApiResult = tl::expected<T, ApiError>;

tl::unexpected<ApiError> refuse(int status, std::string message, std::string param = {}, std::string code = {});
ApiError to_api_error(const Error& error, std::string param = {});

nlohmann::ordered_json to_json(const ApiError& error);
HttpReply to_reply(const ApiError& error);

}  // namespace sluice::serve
