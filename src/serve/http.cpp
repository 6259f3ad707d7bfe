// See http.h.
#include "serve/http.h"

#include <algorithm>
#include <cctype>

namespace sluice::serve {

std::string_view HttpRequest::header(std::string_view name) const {
  const auto same = [&](const std::string& other) {
    return std::ranges::equal(other, name,
                              [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
  };
  for (const auto& [key, value] : headers)
    if (same(key)) return value;
  return {};
}

std::string_view reason_phrase(int status) {
  constexpr std::pair<int, std::string_view> kPhrases[] = {{200, "OK"},
                                                           {204, "No Content"},
                                                           {400, "Bad Request"},
                                                           {401, "Unauthorized"},
                                                           {403, "Forbidden"},
                                                           {404, "Not Found"},
                                                           {405, "Method Not Allowed"},
                                                           {408, "Request Timeout"},
                                                           {413, "Content Too Large"},
                                                           {415, "Unsupported Media Type"},
                                                           {422, "Unprocessable Content"},
                                                           {429, "Too Many Requests"},
                                                           {431, "Request Header Fields Too Large"},
                                                           {499, "Client Closed Request"},
                                                           {500, "Internal Server Error"},
                                                           {503, "Service Unavailable"},
                                                           {504, "Gateway Timeout"}};
  const auto* const found = std::ranges::find(kPhrases, status, &std::pair<int, std::string_view>::first);
  return found == std::end(kPhrases) ? "Status" : found->second;
}

}  // namespace sluice::serve
