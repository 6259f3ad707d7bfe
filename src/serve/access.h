// Who may ask: API keys, and which web pages of a browser on this machine.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/api_error.h"
#include "serve/http.h"

namespace sluice::serve {

struct AccessRules {
  std::vector<std::string> api_keys;  // empty: none is asked for
  std::string cors_origin;            // a page from there may ask too; "*": any page; empty: none
  bool loopback = true;               // the server listens to this machine alone
};

// Takes as long for every guess of the same length.
bool same_secret(std::string_view known, std::string_view guess);

// A request that brings one of the keys, as `Authorization: Bearer KEY` or `x-api-key: KEY`.
std::optional<ApiError> check_key(const HttpRequest& request, const AccessRules& rules);

// A browser sends requests of foreign pages too, and names may be made to point to this machine: the page must be one
// of ours or the one that is allowed, and on the loopback address we are called by a name of this machine.
std::optional<ApiError> check_origin(const HttpRequest& request, const AccessRules& rules);

// What allows that page to read the answer; empty for all others.
Headers cors_headers(const HttpRequest& request, const AccessRules& rules);

}  // namespace sluice::serve
