// See http_client.h.
#include "support/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace sluice::test {

HttpConnection::HttpConnection(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  ::timeval patience{600, 0};  // ends a test whose server answers nothing; a slow machine is not that
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<const ::sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("cannot connect");
}

HttpConnection::~HttpConnection() { ::close(socket_); }

void HttpConnection::send(const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ::ssize_t now = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (now <= 0) return;  // closed: the answer says why
    sent += static_cast<std::size_t>(now);
  }
}

bool HttpConnection::more() {
  char block[16384];
  const ::ssize_t got = ::recv(socket_, block, sizeof block, 0);
  if (got > 0) read_.append(block, static_cast<std::size_t>(got));
  return got > 0;
}

std::string HttpConnection::read_until(const std::string& mark) {
  while (read_.find(mark) == std::string::npos && more()) {
  }
  const std::size_t found = read_.find(mark);
  const std::size_t end = found == std::string::npos ? read_.size() : found + mark.size();
  std::string text = read_.substr(0, end);
  read_.erase(0, end);
  return text;
}

HttpAnswer HttpConnection::answer() {
  HttpAnswer answer;
  answer.head = read_until("\r\n\r\n");
  if (!answer.head.ends_with("\r\n\r\n")) return answer;
  answer.status = std::stoi(answer.head.substr(answer.head.find(' ')));
  if (answer.header("transfer-encoding") == "chunked") {
    while (true) {
      const std::string size_line = read_until("\r\n");
      const std::size_t size = size_line.empty() ? 0 : std::stoul(size_line, nullptr, 16);
      while (read_.size() < size + 2 && more()) {
      }
      answer.body += read_.substr(0, size);
      read_.erase(0, size + 2);
      if (size == 0) return answer;
    }
  }
  const std::string length = answer.header("content-length");
  const std::size_t size = length.empty() ? std::string::npos : std::stoul(length);
  while (read_.size() < size && more()) {
  }
  answer.body = read_.substr(0, size);
  read_.erase(0, answer.body.size());
  return answer;
}

std::string HttpAnswer::header(const std::string& name) const {
  std::string lower;
  for (const char letter : head) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  const std::size_t at = lower.find("\r\n" + name + ": ");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + name.size() + 4;
  return lower.substr(begin, lower.find("\r\n", begin) - begin);
}

std::vector<std::string> HttpAnswer::events() const {
  std::vector<std::string> events;
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t end = std::min(body.find("\n\n", at), body.size());
    if (body.compare(at, 6, "data: ") == 0) events.push_back(body.substr(at + 6, end - at - 6));
    at = end + 2;
  }
  return events;
}

std::string request_text(const std::string& method, const std::string& path, const std::string& body,
                         const std::string& headers) {
  return method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers +
         (body.empty() ? "" : "Content-Type: application/json\r\n") + "Content-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

HttpAnswer http(int port, const std::string& method, const std::string& path, const std::string& body,
                const std::string& headers) {
  HttpConnection connection(port);
  connection.send(request_text(method, path, body, headers));
  return connection.answer();
}

}  // namespace sluice::test
