// HTTP as the rest of the server sees it: a request is a value, its answer goes through an Exchange.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::serve {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method, path, query;  // "POST", "/v1/models", what follows the ?
  Headers headers;
  std::string body;

  // The first header of that name in any case, or nothing.
  std::string_view header(std::string_view name) const;
};

struct HttpReply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  Headers headers = {};
};

// One request that is being answered: with reply(), or with begin(), any number of write() and end(). All calls are
// made on the network's thread; after the client has gone they do nothing.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual void reply(HttpReply reply) = 0;
  // The body of `head` is the beginning of the stream.
  virtual void begin(HttpReply head) = 0;
  virtual void write(std::string text) = 0;
  virtual void end() = 0;
  // What to do when the client goes away before the answer is complete; at most once.
  virtual void when_gone(std::function<void()> what) = 0;
};

// 404 -> "Not Found".
std::string_view reason_phrase(int status);

}  // namespace sluice::serve
