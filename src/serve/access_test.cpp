// Tests of access.h.
#include "serve/access.h"

#include <gtest/gtest.h>

namespace sluice::serve {
namespace {

HttpRequest with(Headers headers) { return {"POST", "/v1/completions", "", std::move(headers), ""}; }

TEST(Key, IsAskedForAndCompared) {
  const AccessRules rules{.api_keys = {"first-key", "second"}, .cors_origin = {}, .loopback = true};
  EXPECT_FALSE(check_key(with({{"Authorization", "Bearer first-key"}}), rules));
  EXPECT_FALSE(check_key(with({{"authorization", "bearer second"}}), rules));
  EXPECT_FALSE(check_key(with({{"X-Api-Key", "second"}}), rules));
  for (const char* wrong : {"Bearer first-ke", "Bearer first-key2", "Bearer ", "Bearer", "first-key", "", "Bearer x"})
    EXPECT_EQ(check_key(with({{"Authorization", wrong}}), rules)->status, 401) << wrong;
  EXPECT_EQ(check_key(with({}), rules)->status, 401);
  EXPECT_FALSE(check_key(with({}), AccessRules{}));
}

TEST(Key, EqualsOnlyItself) {
  EXPECT_TRUE(same_secret("abc", "abc"));
  for (const char* guess : {"", "a", "abd", "abcd", "abcabc"}) EXPECT_FALSE(same_secret("abc", guess)) << guess;
  EXPECT_FALSE(same_secret("", "a"));
}

TEST(Origin, ForeignPagesAreTurnedAway) {
  const AccessRules plain, open{.api_keys = {}, .cors_origin = "https://app.example", .loopback = true};
  const auto status = [](const AccessRules& rules, Headers headers) {
    const auto denied = check_origin(with(std::move(headers)), rules);
    return denied ? denied->status : 200;
  };
  EXPECT_EQ(status(plain, {{"Host", "127.0.0.1:8080"}}), 200);
  EXPECT_EQ(status(plain, {{"Host", "localhost:8080"}, {"Origin", "http://localhost:8080"}}), 200);
  EXPECT_EQ(status(plain, {{"Host", "[::1]:8080"}, {"Origin", "http://[::1]:8080"}}), 200);
  EXPECT_EQ(status(plain, {{"Host", "localhost:8080"}, {"Origin", "https://evil.example"}}), 403);
  EXPECT_EQ(status(plain, {{"Host", "localhost:8080"}, {"Origin", "null"}}), 403);
  EXPECT_EQ(status(plain, {{"Host", "evil.example"}, {"Origin", "http://evil.example"}}), 403);
  EXPECT_EQ(status(open, {{"Host", "localhost"}, {"Origin", "https://app.example"}}), 200);
  EXPECT_EQ(status(open, {{"Host", "localhost"}, {"Origin", "https://other.example"}}), 403);
  EXPECT_EQ(status({.api_keys = {}, .cors_origin = {}, .loopback = false}, {{"Host", "gpu-box:8080"}}), 200);
}

TEST(Cors, IsOffUnlessAskedFor) {
  const HttpRequest request = with({{"Origin", "https://app.example"}});
  EXPECT_TRUE(cors_headers(request, AccessRules{}).empty());
  EXPECT_FALSE(cors_headers(request, {.api_keys = {}, .cors_origin = "https://app.example", .loopback = true}).empty());
  EXPECT_TRUE(cors_headers(request, {.api_keys = {}, .cors_origin = "https://b.example", .loopback = true}).empty());
}

}  // namespace
}  // namespace sluice::serve
