// See server.h.
#include "serve/server.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "base/counter_random.h"
#include "base/out_of_memory.h"
#include "engine/engine_thread.h"
#include "engine/generation_config.h"
#include "residency/machine.h"
#include "serve/anthropic.h"
#include "serve/http_server.h"
#include "serve/job.h"
#include "serve/live.h"
#include "serve/metrics.h"
#include "serve/page.h"

namespace sluice::serve {

namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;
constexpr std::chrono::milliseconds kTick{100};

// A body holds at most a prompt as long as the context, as escaped text in any script, and what surrounds it.
std::uint64_t body_bytes(int context) { return std::min(kMiB + static_cast<std::uint64_t>(context) * 32, 64 * kMiB); }

HttpLimits limits_for(int context) {
  HttpLimits limits;
  limits.body_bytes = body_bytes(context);
  limits.bodies_bytes = 4 * limits.body_bytes;
  return limits;
}

std::int64_t unix_seconds() {
  using namespace std::chrono;
  return duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
}

std::string model_name(const std::string& directory) {
  std::error_code ignored;
  const std::filesystem::path path = std::filesystem::weakly_canonical(directory, ignored);
  return path.filename().empty() ? "model" : path.filename().string();
}

// What is computed beside the engine, unless the system refuses the memory for it.
template <class Make>
auto by_name(Make make) -> decltype(make()) {
  auto made = unless_refused(0, [&]() -> Result<decltype(make())> { return make(); });
  if (!made) return tl::unexpected<ApiError>(to_api_error(made.error()));
  return std::move(*made);
}

class TheServer final : public Server {
 public:
  TheServer(Engine& engine, ServeOptions options) : engine_(engine), options_(std::move(options)) {
    std::random_device random;
    id_seed_ = std::uint64_t{random()} << 32 | random();
  }

  Result<> set_up() {
    if (engine_.tokenizer() == nullptr)
      return fail(ErrorKind::bad_input, "a server speaks text, and this checkpoint has no tokenizer",
                  "add the tokenizer's file to its directory");
    const std::string& directory = engine_.directory();
    TRY_TAKE(model_.sampling, recommended_sampling(directory));
    if (auto chat = engine_.config().open_chat(*engine_.tokenizer(), directory)) chat_ = std::move(*chat);
    model_.name = model_name(directory);
    model_.config = &engine_.config();
    model_.tokenizer = engine_.tokenizer();
    model_.chat = chat_.get();
    model_.context = engine_.options().context;
    model_.order = std::async(std::launch::deferred, [this] {
                     return order_of(*engine_.tokenizer(), engine_.config().vocab_size());
                   }).share();
    model_.created = unix_seconds();
    TRY_TAKE(http_, HttpServer::listen(options_.host, options_.port, limits_for(model_.context)));
    options_.access.loopback = http_->loopback();
    return {};
  }

  int port() const override { return http_->port(); }

  void run(const CancelFlag& stop) override {
    EngineThread engine(engine_, options_.queue);
    engine_thread_ = &engine;
    boost::asio::thread_pool preparing(1);
    preparing_ = &preparing;
    http_->every(kTick, [&] {
      tick();
      if (!stop.requested() || engine.draining()) return;
      engine.drain();
      http_->stop();
    });
    http_->run(
        [this](HttpRequest request, std::shared_ptr<Exchange> exchange) { handle(std::move(request), exchange); },
        [this](int status, const std::string& sentence) {
          return counted("-", to_reply({status, sentence}));
        });
    preparing.join();
  }

 private:
  using Answer = HttpReply (TheServer::*)(const HttpRequest&);
  using Compute = ApiResult<std::string> (*)(const ServedModel&, const std::string&);
  using Prepare = ApiResult<Prepared> (*)(const ServedModel&, const std::string&, const ReplyId&);
  struct Route {
    const char *method, *path;
    bool open;         // to callers without a key
    Answer answer;     // at once, or
    Prepare generate;  // by the engine, or
    HttpReply (*refusal)(const ApiError&) = to_reply;
    Compute compute = nullptr;  // beside the network's thread
  };
  static const std::vector<Route>& routes() {
    static const std::vector<Route> all = {
        {"GET", "/health", true, &TheServer::health, nullptr},
        {"GET", "/metrics", false, &TheServer::metrics, nullptr},
        {"GET", "/live", false, &TheServer::live, nullptr},
        {"GET", "/v1/models", false, &TheServer::models, nullptr},
        {"GET", "/v1/models/{model}", false, &TheServer::one_model, nullptr},
        {"GET", "/", true, &TheServer::page, nullptr},
        {"POST", "/tokenize", false, nullptr, nullptr, to_reply, tokenize},
        {"POST", "/detokenize", false, nullptr, nullptr, to_reply, detokenize},
        {"POST", "/v1/completions", false, nullptr, prepare_completion},
        {"POST", "/v1/chat/completions", false, nullptr, prepare_chat},
        {"POST", "/v1/responses", false, nullptr, prepare_response},
        {"POST", "/v1/messages", false, nullptr, prepare_messages, to_messages_reply},
        {"POST", "/v1/messages/count_tokens", false, nullptr, nullptr, to_messages_reply, count_tokens},
    };
    return all;
  }

  HttpReply counted(const std::string& path, HttpReply reply) {
    metrics_.answered(path, reply.status);
    return reply;
  }

  void handle(HttpRequest request, const std::shared_ptr<Exchange>& exchange) {
    const Headers cors = cors_headers(request, options_.access);
    const auto answer = [&](const char* path, HttpReply reply) {
      reply.headers.insert(reply.headers.end(), cors.begin(), cors.end());
      exchange->reply(counted(path, std::move(reply)));
    };
    if (const auto denied = check_origin(request, options_.access)) return answer("-", to_reply(*denied));
    if (request.method == "OPTIONS" && !cors.empty()) return answer("-", preflight());
    const std::string model_path = "/v1/models/" + model_.name;
    if (request.path == model_path) request.path = "/v1/models/{model}";

    const Route* found = nullptr;
    std::string allowed;
    for (const Route& route : routes()) {
      if (request.path != route.path) continue;
      const std::string_view method = request.method == "HEAD" ? "GET" : std::string_view(request.method);
      if (method == route.method) found = &route;
      allowed += std::string(allowed.empty() ? "" : ", ") + route.method;
    }
    if (found == nullptr || !found->open)
      if (const auto denied = check_key(request, options_.access))
        return answer("-", found == nullptr ? to_reply(*denied) : found->refusal(*denied));
    if (found == nullptr && !allowed.empty()) {
      HttpReply reply = to_reply({405, fmt::format("{} takes {}", request.path, allowed)});
      reply.headers.emplace_back("Allow", allowed);
      return answer("-", std::move(reply));
    }
    if (found == nullptr)
      return answer("-", to_reply({404, fmt::format("there is nothing at {}", request.path), {}, "not_found"}));
    if (found->answer != nullptr) return answer(found->path, (this->*found->answer)(request));
    if (found->compute != nullptr) return compute(*found, std::move(request), exchange, cors);
    generate(*found, std::move(request), exchange, cors);
  }

  // A long text takes a while too.
  void compute(const Route& route, HttpRequest request, const std::shared_ptr<Exchange>& exchange,
               const Headers& cors) {
    auto body = std::make_shared<std::string>(std::move(request.body));
    boost::asio::post(*preparing_, [this, &route, body, exchange, cors] {
      auto made = std::make_shared<ApiResult<std::string>>(by_name([&] { return route.compute(model_, *body); }));
      http_->post([this, &route, made, exchange, cors] {
        HttpReply reply = *made ? HttpReply{.body = std::move(**made)} : route.refusal(made->error());
        reply.headers.insert(reply.headers.end(), cors.begin(), cors.end());
        exchange->reply(counted(route.path, std::move(reply)));
      });
    });
  }

  // Reading and tokenizing may take a while: they happen on a thread of their own.
  void generate(const Route& route, HttpRequest request, const std::shared_ptr<Exchange>& exchange,
                const Headers& cors) {
    const ReplyId id{counter_random(id_seed_, ++ids_), unix_seconds()};
    auto gone = std::make_shared<bool>(false);
    exchange->when_gone([gone] { *gone = true; });
    auto body = std::make_shared<std::string>(std::move(request.body));
    boost::asio::post(*preparing_, [this, &route, id, body, exchange, cors, gone] {
      auto prepared = std::make_shared<ApiResult<Prepared>>(by_name([&] { return route.generate(model_, *body, id); }));
      body->clear();
      body->shrink_to_fit();
      http_->post([this, &route, prepared, exchange, cors, gone] {
        if (!*gone) start(route, std::move(*prepared), exchange, cors);
      });
    });
  }

  void start(const Route& route, ApiResult<Prepared> prepared, const std::shared_ptr<Exchange>& exchange,
             const Headers& cors) {
    if (!prepared) {
      HttpReply reply = counted(route.path, route.refusal(prepared.error()));
      reply.headers.insert(reply.headers.end(), cors.begin(), cors.end());
      return exchange->reply(std::move(reply));
    }
    Job::Surroundings around{.engine = engine_thread_,
                             .tokenizer = model_.tokenizer,
                             .metrics = &metrics_,
                             .post = [this](std::function<void()> what) { http_->post(std::move(what)); },
                             .over = [this, &route](int status) { metrics_.answered(route.path, status); },
                             .headers = cors,
                             .timeout = std::chrono::seconds(options_.timeout)};
    jobs_.push_back(std::make_shared<Job>(std::move(around), std::move(*prepared), exchange));
    jobs_.back()->start();
  }

  void tick() {
    const auto now = Job::Clock::now();
    for (const auto& job : jobs_) job->tick(now);
    std::erase_if(jobs_, [](const auto& job) { return job->over(); });
  }

  HttpReply preflight() const {
    return {.status = 204,
            .content_type = {},
            .headers = {{"Access-Control-Allow-Methods", "GET, POST"},
                        {"Access-Control-Allow-Headers", "authorization, content-type, x-api-key, anthropic-version"},
                        {"Access-Control-Max-Age", "600"}}};
  }
  HttpReply page(const HttpRequest&) {
    return {
        .content_type = "text/html; charset=utf-8",
        .body = std::string(page_html()),
        .headers = {{"Content-Security-Policy", std::string(page_policy())}, {"X-Content-Type-Options", "nosniff"}}};
  }
  HttpReply health(const HttpRequest&) {
    const EngineLoad load = engine_thread_->load();
    return {.body = dump({{"status", "ok"},
                          {"model", model_.name},
                          {"slots", engine_.options().slots},
                          {"running", load.running},
                          {"waiting", load.waiting}})};
  }
  HttpReply metrics(const HttpRequest&) {
    return {.content_type = "text/plain; version=0.0.4",
            .body = metrics_.text(engine_thread_->load(), peak_resident_bytes())};
  }
  HttpReply live(const HttpRequest&) {
    return {.body = dump(live_json(model_.name, engine_, engine_thread_->load(), peak_resident_bytes())),
            .headers = {{"Cache-Control", "no-store"}}};
  }
  nlohmann::ordered_json model_json() const {
    const std::time_t created = model_.created;
    return {{"id", model_.name},
            {"object", "model"},
            {"created", model_.created},
            {"owned_by", "sluice"},
            {"max_model_len", model_.context},
            {"type", "model"},
            {"display_name", model_.name},
            {"created_at", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(created))}};
  }
  // What OpenAI's clients read of a list, and what Anthropic's do.
  HttpReply models(const HttpRequest&) {
    return {.body = dump({{"object", "list"},
                          {"data", nlohmann::ordered_json::array({model_json()})},
                          {"has_more", false},
                          {"first_id", model_.name},
                          {"last_id", model_.name}})};
  }
  HttpReply one_model(const HttpRequest&) { return {.body = dump(model_json())}; }

  Engine& engine_;
  ServeOptions options_;
  ServedModel model_;
  std::unique_ptr<ChatFormat> chat_;
  std::unique_ptr<HttpServer> http_;
  EngineThread* engine_thread_ = nullptr;  // while run() runs
  boost::asio::thread_pool* preparing_ = nullptr;
  Metrics metrics_;
  std::vector<std::shared_ptr<Job>> jobs_;
  std::uint64_t id_seed_ = 0, ids_ = 0;
};

}  // namespace

std::uint64_t server_bytes(int context, int slots, int vocab_size) {
  const std::uint64_t grammars = static_cast<std::uint64_t>(slots) * TokenConstraint::bytes(vocab_size) +
                                 TokenConstraint::shared_bytes(vocab_size);
  return 8 * kMiB + 8 * body_bytes(context) + grammars;
}

Result<std::unique_ptr<Server>> Server::open(Engine& engine, ServeOptions options) {
  auto server = std::make_unique<TheServer>(engine, std::move(options));
  TRY(server->set_up());
  return server;
}

}  // namespace sluice::serve
