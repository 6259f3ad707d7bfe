// A small HTTP client for tests: one request a connection, or bytes by hand.
#pragma once

#include <string>
#include <vector>

namespace sluice::test {

struct HttpAnswer {
  int status = 0;  // 0: the connection was closed without an answer
  std::string head, body;
  std::string header(const std::string& name) const;
  // What stands behind "data: " of each event of a stream.
  std::vector<std::string> events() const;
};

// A connection to a port of this machine; closed at the end. Reads give up after a minute.
class HttpConnection {
 public:
  explicit HttpConnection(int port);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  void send(const std::string& bytes);
  // Bytes up to and including the first `mark`, or all until the end.
  std::string read_until(const std::string& mark);
  HttpAnswer answer();

 private:
  bool more();

  int socket_ = -1;
  std::string read_;
};

std::string request_text(const std::string& method, const std::string& path, const std::string& body,
                         const std::string& headers = {});
HttpAnswer http(int port, const std::string& method, const std::string& path, const std::string& body = {},
                const std::string& headers = {});

}  // namespace sluice::test
