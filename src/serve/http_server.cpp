// See http_server.h.
#include "serve/http_server.h"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <vector>

#include "serve/http_connection.h"

namespace sluice::serve {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

class BeastServer final : public HttpServer {
 public:
  explicit BeastServer(const HttpLimits& limits)
      : acceptor_(io_), retry_(io_), shared_(std::make_shared<Connections>()) {
    shared_->limits = limits;
    shared_->closed = [this] { accept(); };
  }
  ~BeastServer() override {
    shared_->closed = [] {};
  }

  Result<> bind(const std::string& host, int port) {
    error_code problem;
    tcp::resolver resolver(io_);
    const auto found = resolver.resolve(host, std::to_string(port), tcp::resolver::passive, problem);
    if (problem || found.empty())
      return fail(ErrorKind::bad_input, fmt::format("--host: '{}' is no address of this machine", host),
                  "say 127.0.0.1, or 0.0.0.0 for all of them");
    const tcp::endpoint endpoint = *found.begin();
    acceptor_.open(endpoint.protocol(), problem);
    if (!problem) acceptor_.set_option(tcp::acceptor::reuse_address(true), problem);
    if (!problem) acceptor_.bind(endpoint, problem);
    if (!problem) acceptor_.listen(asio::socket_base::max_listen_connections, problem);
    if (problem)
      return fail(ErrorKind::bad_input, fmt::format("cannot listen on {} port {}: {}", host, port, problem.message()),
                  "another program may have the port: give another --port");
    return {};
  }

  int port() const override {
    error_code ignored;
    return acceptor_.local_endpoint(ignored).port();
  }

  bool loopback() const override {
    error_code ignored;
    return acceptor_.local_endpoint(ignored).address().is_loopback();
  }

  void run(Handler handler, Refusal refusal) override {
    shared_->handler = std::move(handler);
    shared_->refusal = std::move(refusal);
    accept();
    const auto work = asio::make_work_guard(io_);
    while (!shared_->stopping || shared_->exchanges > 0) io_.run_one();
    const std::vector<Connection*> open(shared_->open.begin(), shared_->open.end());
    for (Connection* connection : open) connection->close_if_idle();
    io_.poll();
  }

  void stop() override {
    shared_->stopping = true;
    error_code ignored;
    acceptor_.close(ignored);
    const std::vector<Connection*> open(shared_->open.begin(), shared_->open.end());
    for (Connection* connection : open) connection->close_if_idle();
  }

  int exchanges() const override { return shared_->exchanges; }
  void post(std::function<void()> what) override { asio::post(io_, std::move(what)); }

  void every(std::chrono::milliseconds period, std::function<void()> what) override {
    auto timer = std::make_shared<asio::steady_timer>(io_);
    tick(timer, period, std::make_shared<std::function<void()>>(std::move(what)));
  }

 private:
  void accept() {
    const bool full = static_cast<int>(shared_->open.size()) >= shared_->limits.connections;
    if (accepting_ || full || shared_->stopping || !acceptor_.is_open()) return;
    accepting_ = true;
    acceptor_.async_accept([this](error_code problem, tcp::socket socket) {
      accepting_ = false;
      if (!problem) {
        socket.set_option(tcp::no_delay(true), problem);
        std::make_shared<Connection>(std::move(socket), shared_)->read_request();
        return accept();
      }
      retry_.expires_after(std::chrono::milliseconds(100));  // out of file descriptors, perhaps
      retry_.async_wait([this](error_code) { accept(); });
    });
  }

  void tick(const std::shared_ptr<asio::steady_timer>& timer, std::chrono::milliseconds period,
            const std::shared_ptr<std::function<void()>>& what) {
    timer->expires_after(period);
    timer->async_wait([this, timer, period, what](error_code problem) {
      if (problem) return;
      (*what)();
      tick(timer, period, what);
    });
  }

  asio::io_context io_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer retry_;
  std::shared_ptr<Connections> shared_;
  bool accepting_ = false;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::listen(const std::string& host, int port, const HttpLimits& limits) {
  auto server = std::make_unique<BeastServer>(limits);
  TRY(server->bind(host, port));
  return server;
}

}  // namespace sluice::serve
