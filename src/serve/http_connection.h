// One connection: request after request, each read within limits, answered, and watched for a client that leaves.
//
// Everything runs on the network's thread. A connection lives as long as something is going on on it.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "serve/http_server.h"

namespace sluice::serve {

class Connection;

// What the connections of a server share.
struct Connections {
  HttpLimits limits;
  HttpServer::Handler handler;
  HttpServer::Refusal refusal;
  std::function<void()> closed;  // a connection has ended
  std::set<Connection*> open;
  std::uint64_t bodies_bytes = 0;  // of requests that are being read or answered
  int exchanges = 0;
  bool stopping = false;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, std::shared_ptr<Connections> shared);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void read_request();
  // Ends it if no request is being answered.
  void close_if_idle();

 private:
  class Answer;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  void on_header(boost::beast::error_code problem);
  void read_body();
  void on_body(boost::beast::error_code problem);
  void on_read_problem(boost::beast::error_code problem);
  bool reserve_body();
  void resize_reservation(std::uint64_t bytes);
  void handle();
  void refuse(int status, std::string sentence);
  void watch();
  void look_again();
  void send(std::string bytes);
  void write_next();
  void answered();
  void gone();
  void linger();
  void drain();

  boost::beast::tcp_stream stream_;
  boost::asio::steady_timer look_timer_;
  std::shared_ptr<Connections> shared_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::uint64_t body_reserved_ = 0;
  std::shared_ptr<Answer> answer_;  // of the request in progress
  std::deque<std::string> unsent_;
  std::uint64_t unsent_bytes_ = 0;
  bool writing_ = false, first_request_ = true, closed_ = false;
  char dropped_[4096];
};

}  // namespace sluice::serve
