// See access.h.
#include "serve/access.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::serve {

namespace {

std::string_view brought_key(const HttpRequest& request) {
  constexpr std::string_view kBearer = "bearer ";
  const std::string_view value = request.header("authorization");
  const auto lower = [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
  };
  if (value.size() > kBearer.size() && std::ranges::equal(value.substr(0, kBearer.size()), kBearer, {}, lower))
    return value.substr(kBearer.size());
  return request.header("x-api-key");
}

// "localhost:8080" -> "localhost", "[::1]:8080" -> "[::1]"
std::string_view without_port(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  const bool port = colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos;
  return port ? host.substr(0, colon) : host;
}

bool names_this_machine(std::string_view host) {
  const std::string_view name = without_port(host);
  return name == "localhost" || name == "[::1]" || name.starts_with("127.") || name.ends_with(".localhost");
}

bool allowed_page(std::string_view origin, const AccessRules& rules) {
  return !rules.cors_origin.empty() && (rules.cors_origin == "*" || rules.cors_origin == origin);
}

}  // namespace

bool same_secret(std::string_view known, std::string_view guess) {
  unsigned different = known.size() == guess.size() ? 0 : 1;
  for (std::size_t at = 0; at < guess.size(); ++at) {
    const char letter = known.empty() ? '\0' : known[at % known.size()];
    different |= static_cast<unsigned char>(letter ^ guess[at]);
  }
  return different == 0 && known.size() == guess.size();
}

std::optional<ApiError> check_key(const HttpRequest& request, const AccessRules& rules) {
  if (rules.api_keys.empty()) return std::nullopt;
  const std::string_view guess = brought_key(request);
  bool known = false;
  for (const std::string& key : rules.api_keys) known = same_secret(key, guess) || known;
  if (known) return std::nullopt;
  return ApiError{
      401,
      guess.empty() ? "this server asks for an API key: send Authorization: Bearer KEY" : "the API key is wrong",
      {},
      "invalid_api_key"};
}

std::optional<ApiError> check_origin(const HttpRequest& request, const AccessRules& rules) {
  const std::string_view host = request.header("host"), origin = request.header("origin");
  if (rules.loopback && !host.empty() && !names_this_machine(host))
    return ApiError{403, fmt::format("this server answers to names of its own machine, not to '{}'", host)};
  if (origin.empty() || allowed_page(origin, rules) || origin == fmt::format("http://{}", host)) return std::nullopt;
  return ApiError{403, fmt::format("pages from {} may not use this server (see --cors)", origin)};
}

Headers cors_headers(const HttpRequest& request, const AccessRules& rules) {
  const std::string_view origin = request.header("origin");
  if (origin.empty() || !allowed_page(origin, rules)) return {};
  return {{"Access-Control-Allow-Origin", rules.cors_origin}, {"Vary", "Origin"}};
}

}  // namespace sluice::serve
