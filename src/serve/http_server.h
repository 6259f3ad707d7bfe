// An HTTP/1.1 server on one thread: reads requests within limits, hands them to a handler, notices clients that leave.
//
// The parser and the sockets are Boost's (Beast and Asio): what faces the network is somebody's full-time care. A
// client that closes its side while it waits has gone, whatever it says about the other side.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "serve/http.h"

namespace sluice::serve {

struct HttpLimits {
  std::uint64_t header_bytes = 16 * 1024;
  std::uint64_t body_bytes = 1 << 20;      // of one request
  std::uint64_t bodies_bytes = 4 << 20;    // of all requests that are being read or answered; beyond it: 503
  std::uint64_t unsent_bytes = 4 << 20;    // of one answer that its client does not take; beyond it: the client is gone
  int connections = 256;                   // more wait to be accepted
  std::chrono::seconds read_timeout{30};   // for a header, and for a body
  std::chrono::seconds idle_timeout{75};   // between requests
  std::chrono::seconds write_timeout{60};  // for a client that takes nothing
};

class HttpServer {
 public:
  using Handler = std::function<void(HttpRequest request, std::shared_ptr<Exchange> exchange)>;
  // Requests that are refused before the handler sees them are answered with what this makes of status and sentence.
  using Refusal = std::function<HttpReply(int status, std::string sentence)>;

  // Binds to an address and a port (0: any free one). bad_input if that is not possible.
  static Result<std::unique_ptr<HttpServer>> listen(const std::string& host, int port, const HttpLimits& limits);
  virtual ~HttpServer() = default;

  virtual int port() const = 0;
  virtual bool loopback() const = 0;  // reachable from this machine alone
  // Serves on the calling thread until stop() was called and every exchange is over.
  virtual void run(Handler handler, Refusal refusal) = 0;
  // On the network's thread: no new connections and requests; answers in progress go on.
  virtual void stop() = 0;
  virtual int exchanges() const = 0;
  // Runs `what` on the network's thread. From any thread.
  virtual void post(std::function<void()> what) = 0;
  // The same, again and again until the server stops. Before run() or on the network's thread.
  virtual void every(std::chrono::milliseconds period, std::function<void()> what) = 0;
};

}  // namespace sluice::serve
