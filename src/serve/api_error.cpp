// See api_error.h.
#include "serve/api_error.h"

#include <nlohmann/json.hpp>

namespace sluice::serve {

namespace {

const char* openai_error_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 429:
      return "rate_limit_error";
    default:
      return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

nlohmann::ordered_json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
}

}  // namespace

tl::unexpected<ApiError> refuse(int status, std::string message, std::string param, std::string code) {
  return tl::unexpected<ApiError>(ApiError{status, std::move(message), std::move(param), std::move(code)});
}

ApiError to_api_error(const Error& error, std::string param) {
  return {fate(error.kind).http_status,
          error.hint.empty() ? error.what : error.what + " (" + error.hint + ")",
          std::move(param),
          {}};
}

nlohmann::ordered_json to_json(const ApiError& error) {
  return {{"error",
           {{"message", error.message},
            {"type", openai_error_type(error.status)},
            {"param", text_or_null(error.param)},
            {"code", text_or_null(error.code)}}}};
}

HttpReply to_reply(const ApiError& error) {
  HttpReply reply{.status = error.status,
                  .body = to_json(error).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)};
  if (error.status == 429 || error.status == 503) reply.headers.emplace_back("Retry-After", "1");
  if (error.status == 401) reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

}  // namespace sluice::serve
