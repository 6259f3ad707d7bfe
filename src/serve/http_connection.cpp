// See http_connection.h.
#include "serve/http_connection.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <cerrno>

#include "base/out_of_memory.h"

namespace sluice::serve {

namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace asio = boost::asio;
using beast::error_code;

namespace {

constexpr std::chrono::milliseconds kLookAgain{50};
constexpr std::chrono::seconds kLinger{2};

std::string head_of(const HttpReply& reply, bool keep_alive, std::optional<std::size_t> length, bool chunked) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", reply.status, reason_phrase(reply.status));
  if (!reply.content_type.empty()) head += fmt::format("Content-Type: {}\r\n", reply.content_type);
  if (length) head += fmt::format("Content-Length: {}\r\n", *length);
  if (chunked) head += "Transfer-Encoding: chunked\r\n";
  for (const auto& [name, value] : reply.headers) head += fmt::format("{}: {}\r\n", name, value);
  return head + (keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n");
}

std::string as_chunk(std::string_view text) { return fmt::format("{:x}\r\n{}\r\n", text.size(), text); }

}  // namespace

// The answer to one request. Keeps its connection alive until it is complete or the client has gone.
class Connection::Answer final : public Exchange {
 public:
  Answer(std::shared_ptr<Connection> connection, bool keep_alive, bool chunks, bool head_only)
      : connection_(std::move(connection)), keep_alive_(keep_alive), chunks_(chunks), head_only_(head_only) {}

  void reply(HttpReply reply) override {
    if (connection_ == nullptr || ended_) return;
    ended_ = true;
    std::string bytes = head_of(reply, keep_alive(), reply.body.size(), false);
    if (!head_only_) bytes += reply.body;
    connection_->send(std::move(bytes));
  }
  void begin(HttpReply head) override {
    if (connection_ == nullptr || ended_) return;
    if (!chunks_) keep_alive_ = false;  // an old client: the end of the connection is the end of the body
    std::string bytes = head_of(head, keep_alive(), std::nullopt, chunks_);
    if (!head_only_ && !head.body.empty()) bytes += chunks_ ? as_chunk(head.body) : head.body;
    connection_->send(std::move(bytes));
  }
  void write(std::string text) override {
    if (connection_ == nullptr || ended_ || head_only_ || text.empty()) return;
    connection_->send(chunks_ ? as_chunk(text) : std::move(text));
  }
  void end() override {
    if (connection_ == nullptr || ended_) return;
    ended_ = true;
    connection_->send(chunks_ && !head_only_ ? "0\r\n\r\n" : "");
  }
  void when_gone(std::function<void()> what) override { when_gone_ = std::move(what); }

  bool ended() const { return ended_; }
  bool keep_alive() const { return keep_alive_ && !connection_->shared_->stopping; }
  void leave() { connection_.reset(); }
  void tell_gone() {
    connection_.reset();
    if (const auto what = std::exchange(when_gone_, nullptr)) what();
  }

 private:
  std::shared_ptr<Connection> connection_;  // null once it is over
  bool keep_alive_, chunks_, head_only_, ended_ = false;
  std::function<void()> when_gone_;
};

Connection::Connection(asio::ip::tcp::socket socket, std::shared_ptr<Connections> shared)
    : stream_(std::move(socket)), look_timer_(stream_.get_executor()), shared_(std::move(shared)) {
  shared_->open.insert(this);
}

Connection::~Connection() {
  resize_reservation(0);
  shared_->open.erase(this);
  shared_->closed();
}

void Connection::close_if_idle() {
  if (answer_ != nullptr || closed_) return;
  closed_ = true;
  stream_.close();
}

void Connection::read_request() {
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(shared_->limits.header_bytes));
  parser_->body_limit(shared_->limits.body_bytes);
  stream_.expires_after(first_request_ ? shared_->limits.read_timeout : shared_->limits.idle_timeout);
  first_request_ = false;
  http::async_read_header(stream_, buffer_, *parser_,
                          [self = shared_from_this()](error_code problem, std::size_t) { self->on_header(problem); });
}

void Connection::on_read_problem(error_code problem) {
  if (problem == http::error::header_limit || problem == http::error::buffer_overflow)
    return refuse(431, fmt::format("the header of the request is longer than {} bytes", shared_->limits.header_bytes));
  if (problem == http::error::body_limit)
    return refuse(413, fmt::format("the body of the request is longer than {} bytes", shared_->limits.body_bytes));
  const bool begun = parser_->got_some();
  if (problem == beast::error::timeout || problem == http::error::end_of_stream ||
      problem == http::error::partial_message || problem.category() == asio::error::get_system_category() || !begun)
    return stream_.close();
  refuse(400, fmt::format("this is not an HTTP request: {}", problem.message()));
}

void Connection::on_header(error_code problem) {
  if (closed_) return;
  if (problem) return on_read_problem(problem);
  if (!reserve_body()) return refuse(503, "too many large requests are being read; try again later");
  if (!beast::iequals(parser_->get()[http::field::expect], "100-continue")) return read_body();
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  asio::async_write(stream_, asio::buffer(kContinue), [self = shared_from_this()](error_code failed, std::size_t) {
    if (!failed) self->read_body();
  });
}

bool Connection::reserve_body() {
  const auto length = parser_->content_length();
  const std::uint64_t bytes = length ? *length : parser_->chunked() ? shared_->limits.body_bytes : 0;
  if (shared_->bodies_bytes + bytes > shared_->limits.bodies_bytes) return false;
  resize_reservation(bytes);
  return true;
}

void Connection::resize_reservation(std::uint64_t bytes) {
  shared_->bodies_bytes += bytes - std::exchange(body_reserved_, bytes);
}

void Connection::read_body() {
  stream_.expires_after(shared_->limits.read_timeout);
  http::async_read(stream_, buffer_, *parser_,
                   [self = shared_from_this()](error_code problem, std::size_t) { self->on_body(problem); });
}

void Connection::on_body(error_code problem) {
  if (closed_) return;
  if (problem) return on_read_problem(problem);
  stream_.expires_never();
  resize_reservation(parser_->get().body().size());  // less than was reserved if the length was not announced
  handle();
}

void Connection::handle() {
  auto message = parser_->release();
  parser_.reset();
  HttpRequest request;
  request.method = std::string(message.method_string());
  const std::string target(message.target());
  const std::size_t question = std::min(target.find('?'), target.size());
  request.path = target.substr(0, question);
  request.query = target.substr(std::min(question + 1, target.size()));
  for (const auto& field : message)
    request.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  request.body = std::move(message.body());
  answer_ = std::make_shared<Answer>(shared_from_this(), message.keep_alive(), message.version() >= 11,
                                     message.method() == http::verb::head);
  ++shared_->exchanges;
  watch();
  const std::shared_ptr<Answer> answer = answer_;
  if (const Result<> outcome = unless_refused(0, [&] { shared_->handler(std::move(request), answer); }); !outcome)
    answer->reply(shared_->refusal(503, outcome.error().what));
}

void Connection::refuse(int status, std::string sentence) {
  answer_ = std::make_shared<Answer>(shared_from_this(), false, false, false);
  ++shared_->exchanges;
  const std::shared_ptr<Answer> answer = answer_;
  answer->reply(shared_->refusal(status, std::move(sentence)));
}

// Bytes to read mean that the client has gone (nothing comes) or sent its next request early.
void Connection::watch() {
  stream_.socket().async_wait(asio::ip::tcp::socket::wait_read,
                              [self = shared_from_this(), answer = answer_](error_code problem) {
                                if (!problem && answer == self->answer_) self->look_again();
                              });
}

void Connection::look_again() {
  char byte = 0;
  const ::ssize_t there = ::recv(stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (there == 0 || (there < 0 && errno != EAGAIN && errno != EINTR)) return gone();
  if (there < 0) return watch();
  look_timer_.expires_after(kLookAgain);  // a next request: its end cannot be waited for
  look_timer_.async_wait([self = shared_from_this(), answer = answer_](error_code problem) {
    if (problem || answer != self->answer_ || answer == nullptr) return;
    int error = 0;
    ::socklen_t size = sizeof error;
    ::getsockopt(self->stream_.socket().native_handle(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return self->gone();
    self->look_again();
  });
}

void Connection::send(std::string bytes) {
  unsent_bytes_ += bytes.size();
  unsent_.push_back(std::move(bytes));
  if (unsent_bytes_ > shared_->limits.unsent_bytes && unsent_.size() > 1) return gone();
  if (!writing_) write_next();
}

void Connection::write_next() {
  writing_ = true;
  stream_.expires_after(shared_->limits.write_timeout);
  asio::async_write(stream_, asio::buffer(unsent_.front()),
                    [self = shared_from_this()](error_code problem, std::size_t) {
                      if (self->closed_) return;
                      if (problem) return self->gone();
                      self->unsent_bytes_ -= self->unsent_.front().size();
                      self->unsent_.pop_front();
                      if (!self->unsent_.empty()) return self->write_next();
                      self->writing_ = false;
                      self->stream_.expires_never();
                      if (self->answer_ != nullptr && self->answer_->ended()) self->answered();
                    });
}

void Connection::answered() {
  const bool keep_alive = answer_->keep_alive();
  const std::shared_ptr<Answer> answer = std::exchange(answer_, nullptr);
  --shared_->exchanges;
  resize_reservation(0);
  error_code ignored;
  stream_.socket().cancel(ignored);  // the watch
  look_timer_.cancel();
  answer->leave();
  keep_alive ? read_request() : linger();
}

void Connection::gone() {
  if (closed_) return;
  closed_ = true;
  resize_reservation(0);
  look_timer_.cancel();
  stream_.close();
  if (const std::shared_ptr<Answer> answer = std::exchange(answer_, nullptr)) {
    --shared_->exchanges;
    answer->tell_gone();
  }
}

// A client that still sends would lose the answer if the socket were closed at once.
void Connection::linger() {
  error_code ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  stream_.expires_after(kLinger);
  drain();
}

void Connection::drain() {
  stream_.async_read_some(asio::buffer(dropped_), [self = shared_from_this()](error_code problem, std::size_t) {
    problem ? self->stream_.close() : self->drain();
  });
}

}  // namespace sluice::serve
