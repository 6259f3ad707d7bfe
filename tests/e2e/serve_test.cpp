// The server as its clients see it, over sockets: right answers, refusals that name the field, clients that leave, more
// clients than it takes, memory, and an orderly end.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <thread>

#include "support/http_client.h"
#include "support/served.h"
#include "support/sluice_program.h"

namespace sluice::test {
namespace {

using Json = nlohmann::json;

constexpr const char* kCompletionsPath = "/v1/completions";

std::string completion(const std::string& prompt, int tokens, const std::string& more = {}) {
  return R"({"prompt":")" + prompt + R"(","temperature":0,"max_tokens":)" + std::to_string(tokens) + more + "}";
}
// Never comes to an end by itself: a token that was generated becomes likelier each time, so the first one repeats.
std::string endless(const std::string& prompt, const std::string& more = {}) {
  return R"({"prompt":")" + prompt + R"(","temperature":0,"frequency_penalty":-100,"max_tokens":3000)" + more + "}";
}
std::string hello(int tokens, const std::string& more = {}) {
  return R"({"messages":[{"role":"user","content":"Hello"}],"max_tokens":)" + std::to_string(tokens) + more + "}";
}

TEST(Serve, SaysWhatRunSays) {
  const Served server;
  const Generated run = generated(demo_model(), {"--prompt", "The capital of France is", "--max-tokens", "16"});
  const Json made = server.posted(kCompletionsPath, completion("The capital of France is", 16));
  EXPECT_EQ(made.at("choices").at(0).at("text"), run.report.at("text"));
  EXPECT_EQ(made.at("usage").at("prompt_tokens"), run.report.at("prompt_ids").size());
  EXPECT_EQ(made.at("usage").at("completion_tokens"), run.report.at("ids").size());
}

TEST(Serve, AStreamAddsUpToTheWholeAnswer) {
  const Served server;
  for (const char* more :
       {R"(,"seed":5,"temperature":0.8)", R"(,"temperature":0,"n":2,"logprobs":true,"top_logprobs":2)"}) {
    const Json whole = server.posted(kChatPath, hello(24, more));
    const HttpAnswer stream = server.post(
        kChatPath, hello(24, more + std::string(R"(,"stream":true,"stream_options":{"include_usage":true})")));
    EXPECT_EQ(stream.header("content-type"), "text/event-stream");
    std::vector<std::string> content(2), reasoning(2), finish(2);
    std::vector<std::size_t> logprobs(2);
    Json usage;
    std::vector<std::string> events = stream.events();
    ASSERT_GE(events.size(), 3u);
    EXPECT_EQ(events.back(), "[DONE]");
    events.pop_back();
    for (const std::string& event : events) {
      const Json chunk = Json::parse(event);
      if (chunk.contains("usage")) usage = chunk.at("usage");
      for (const Json& choice : chunk.at("choices")) {
        const auto index = choice.at("index").get<std::size_t>();
        content[index] += choice.at("delta").value("content", "");
        reasoning[index] += choice.at("delta").value("reasoning_content", "");
        if (choice.at("logprobs").is_object()) logprobs[index] += choice.at("logprobs").at("content").size();
        if (choice.at("finish_reason").is_string()) finish[index] = choice.at("finish_reason");
      }
    }
    for (const char* const count : {"prompt_tokens", "completion_tokens", "total_tokens"})
      EXPECT_EQ(usage.at(count), whole.at("usage").at(count));
    for (const Json& choice : whole.at("choices")) {
      const auto index = choice.at("index").get<std::size_t>();
      const Json& message = choice.at("message");
      EXPECT_EQ(content[index], message.at("content").is_null() ? "" : message.at("content").get<std::string>());
      EXPECT_EQ(reasoning[index], message.value("reasoning_content", ""));
      EXPECT_EQ(finish[index], choice.at("finish_reason"));
      const Json& of_choice = choice.at("logprobs");
      EXPECT_EQ(logprobs[index], of_choice.is_object() ? of_choice.at("content").size() : 0u);
    }
  }
}

TEST(Serve, EchoTellsTheLogprobsOfThePrompt) {
  const Served server;
  const std::string prompt = "The capital of France is";
  const Json made = server.posted(kCompletionsPath, completion(prompt, 3, R"(,"echo":true,"logprobs":1)"));
  const Json& choice = made.at("choices").at(0);
  EXPECT_TRUE(choice.at("text").get<std::string>().starts_with(prompt));
  const Json& logprobs = choice.at("logprobs");
  const auto tokens = made.at("usage").at("total_tokens").get<std::size_t>();
  for (const char* list : {"tokens", "token_logprobs", "top_logprobs", "text_offset"})
    EXPECT_EQ(logprobs.at(list).size(), tokens) << list;
  EXPECT_TRUE(logprobs.at("token_logprobs").at(0).is_null());
  for (std::size_t token = 1; token < tokens; ++token) EXPECT_LE(logprobs.at("token_logprobs").at(token), 0);
  const Json only = server.posted(kCompletionsPath, completion(prompt, 0, R"(,"echo":true,"logprobs":0)"));
  EXPECT_EQ(only.at("choices").at(0).at("text"), prompt);
}

TEST(Serve, StopsBeforeAStopString) {
  const Served server;
  const std::string text =
      server.posted(kCompletionsPath, completion("The capital of France is", 24)).at("choices").at(0).at("text");
  const std::string stop = text.substr(text.size() / 2, 3);
  const Json made =
      server.posted(kCompletionsPath, completion("The capital of France is", 24, R"(,"stop":)" + Json(stop).dump()));
  EXPECT_EQ(made.at("choices").at(0).at("text"), text.substr(0, text.find(stop)));
  EXPECT_EQ(made.at("choices").at(0).at("finish_reason"), "stop");
}

TEST(Serve, WrongInputIsRefusedAndNamed) {
  const Served server({"--context", "64"});
  const auto refused = [&](const std::string& path, const std::string& body, int status, const std::string& param) {
    SCOPED_TRACE(path + " " + body.substr(0, 200));
    const HttpAnswer answer = server.post(path, body);
    EXPECT_EQ(answer.status, status);
    const Json error = Json::parse(answer.body, nullptr, false);
    ASSERT_TRUE(error.is_object());
    EXPECT_FALSE(error.at("error").at("message").get<std::string>().empty());
    EXPECT_EQ(error.at("error").at("param").is_null() ? "" : error.at("error").at("param").get<std::string>(), param);
  };
  for (const char* path : {kChatPath, kCompletionsPath, "/tokenize", "/detokenize"})
    for (const char* body : {"x", "[]", "{\"a\"", "\"text\""}) refused(path, body, 400, "");
  refused(kChatPath, "{}", 400, "messages");
  refused(kChatPath, R"({"messages":[{"role":"user"}]})", 400, "messages[0].content");
  refused(kChatPath, hello(-1), 400, "max_tokens");
  refused(kCompletionsPath, completion("a", 5, R"(,"n":37)"), 400, "n");  // 4 slots and a queue of 32 never hold them
  refused(kCompletionsPath, R"({"prompt":[99999999]})", 400, "prompt");
  refused(kCompletionsPath, R"({"prompt":[-5]})", 400, "prompt");
  refused(kCompletionsPath, R"({"prompt":""})", 400, "prompt");
  refused("/detokenize", R"({"tokens":[1,-1]})", 400, "tokens[1]");
  std::string words;
  for (int word = 0; word < 100; ++word) words += "word ";
  refused(kCompletionsPath, completion(words, 5), 400, "prompt");
  refused("/nothing", "{}", 404, "");
  refused("/v1/models", "{}", 405, "");
  EXPECT_EQ(http(server.port(), "GET", kChatPath).status, 405);
  EXPECT_EQ(server.post(kChatPath, std::string(5'000'000, ' ')).status, 413);
  EXPECT_EQ(server.post(kChatPath, hello(1), "X: " + std::string(40'000, 'x') + "\r\n").status, 431);
  HttpConnection nonsense(server.port());
  nonsense.send("\x16\x03\x01 this is not HTTP\r\n\r\n");
  EXPECT_EQ(nonsense.answer().status, 400);
  EXPECT_EQ(
      server.posted(kCompletionsPath, endless("The capital of France is")).at("choices").at(0).at("finish_reason"),
      "length")
      << "an answer is cut at the end of the context";
}

TEST(Serve, TokenizesThereAndBack) {
  const Served server;
  const Json ids = server.posted("/tokenize", R"({"content":"Hello, \u00e9\u4e16 world"})");
  EXPECT_EQ(ids.at("count"), ids.at("tokens").size());
  EXPECT_EQ(server.posted("/detokenize", Json({{"tokens", ids.at("tokens")}}).dump()).at("content"),
            "Hello, \u00e9\u4e16 world");
  const Json models = Json::parse(http(server.port(), "GET", "/v1/models").body);
  EXPECT_EQ(models.at("data").at(0).at("id"), "kimi-k3");
  EXPECT_EQ(http(server.port(), "GET", "/v1/models/kimi-k3").status, 200);
}

TEST(Serve, AsksForTheKey) {
  const TempDir scratch;
  std::ofstream(scratch / "keys") << "sesame\n";
  const Served server({"--api-key-file", (scratch / "keys").string()});
  EXPECT_EQ(http(server.port(), "GET", "/health").status, 200);
  EXPECT_EQ(http(server.port(), "GET", "/v1/models").status, 401);
  EXPECT_EQ(server.post(kChatPath, hello(1)).status, 401);
  EXPECT_EQ(server.post(kChatPath, hello(1), "Authorization: Bearer sesam\r\n").status, 401);
  EXPECT_EQ(server.post(kChatPath, hello(1), "Authorization: Bearer sesame\r\n").status, 200);
}

// Clients leave while they wait, while their prompt is computed and in the middle of an answer.
TEST(Serve, WhoLeavesGivesTheSlotBack) {
  const Served server({"--slots", "2", "--queue", "100"});
  std::string words;
  for (int word = 0; word < 500; ++word) words += "word ";
  for (int client = 0; client < 60; ++client) {
    HttpConnection connection(server.port());
    const bool stream = client % 2 == 0;
    const std::string more = stream ? R"(,"stream":true)" : "";
    connection.send(
        request_text("POST", kCompletionsPath, endless(client % 3 == 0 ? words : "The capital of France is", more)));
    if (stream && client % 4 == 0) connection.read_until("data: ");
    if (client % 5 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const double steps = server.metric("sluice_engine_steps_total");
  EXPECT_TRUE(server.settles());
  EXPECT_LT(server.metric("sluice_engine_steps_total"), steps + 500) << "nobody is left to compute for";
  EXPECT_EQ(server.posted(kCompletionsPath, completion("a", 4)).at("usage").at("completion_tokens"), 4);
}

TEST(Serve, MoreClientsThanPlacesGetRightAnswersOr429) {
  const Served server({"--slots", "3", "--queue", "5"});
  const std::vector<std::string> prompts = {"The capital of France is", "One two three", "Water is", "My name"};
  std::vector<std::string> wanted;
  for (const std::string& prompt : prompts)
    wanted.push_back(server.posted(kCompletionsPath, completion(prompt, 16)).at("choices").at(0).at("text"));
  {
    std::vector<std::unique_ptr<HttpConnection>> inside;  // three run, five wait
    for (int place = 0; place < 8; ++place) {
      inside.push_back(std::make_unique<HttpConnection>(server.port()));
      inside.back()->send(
          request_text("POST", kCompletionsPath, endless("The capital of France is", R"(,"stream":true)")));
      inside.back()->read_until("\r\n\r\n");  // accepted
    }
    EXPECT_EQ(server.post(kCompletionsPath, completion("a", 1)).status, 429);
  }
  ASSERT_TRUE(server.settles());
  std::atomic<int> right = 0, refused = 0, wrong = 0;
  std::vector<std::thread> clients;
  for (std::size_t client = 0; client < 64; ++client)
    clients.emplace_back([&, client] {
      const HttpAnswer answer = server.post(kCompletionsPath, completion(prompts[client % 4], 16));
      if (answer.status == 429)
        ++(answer.header("retry-after").empty() ? wrong : refused);
      else if (answer.status == 200 && Json::parse(answer.body).at("choices").at(0).at("text") == wanted[client % 4])
        ++right;
      else
        ++wrong;
    });
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(right, 8);
  EXPECT_EQ(right + refused, 64);
  EXPECT_TRUE(server.settles());
}

// A body of unknown length takes all the room that one may take, but only until its length is known.
TEST(Serve, ShortBodiesInChunksLeaveRoomForOthers) {
  const Served server({"--slots", "1"});
  const std::string body = endless("The capital of France is", R"(,"stream":true)");
  std::vector<std::unique_ptr<HttpConnection>> inside;
  for (int client = 0; client < 8; ++client) {
    inside.push_back(std::make_unique<HttpConnection>(server.port()));
    inside.back()->send("POST " + std::string(kCompletionsPath) +
                        " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                        "Transfer-Encoding: chunked\r\n\r\n");
    inside.back()->send(fmt::format("{:x}\r\n{}\r\n0\r\n\r\n", body.size(), body));
    EXPECT_NE(inside.back()->read_until("\r\n").find("200"), std::string::npos) << "client " << client;
  }
  EXPECT_EQ(server.post("/tokenize", R"({"content":"a"})").status, 200);
}

TEST(Serve, EndsWhenEverythingIsAnswered) {
  Served server({"--slots", "1"});
  std::vector<std::thread> clients;
  std::atomic<int> complete = 0;
  for (int client = 0; client < 3; ++client)
    clients.emplace_back([&] {
      const HttpAnswer answer = server.post(kCompletionsPath, endless("The capital of France is", R"(,"stream":true)"));
      if (answer.status == 200 && answer.body.ends_with("data: [DONE]\n\n")) ++complete;
    });
  for (int wait = 0; wait < 2000 && Json::parse(http(server.port(), "GET", "/health").body).at("waiting") != 2; ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  server.program().send(SIGTERM);
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(complete, 3);
  EXPECT_EQ(server.program().finish().exit_code, 0);
}

TEST(Serve, WhileNobodyAsksEverythingIsLoaded) {
  const Served server;
  const std::string read = "sluice_read_bytes_total{what=\"experts\"}",
                    trunk = "sluice_read_bytes_total{what=\"trunk\"}";
  const auto all = [&] { return server.metric(read) + server.metric(trunk); };
  double loaded = 0;
  for (int wait = 0; wait < 500 && (loaded <= 0 || all() > loaded); ++wait) {
    loaded = all();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  const double before = server.metric(read);
  EXPECT_GT(before, 0);
  const double trunk_before = server.metric(trunk);
  EXPECT_GT(trunk_before, 0);
  server.posted(kCompletionsPath, completion("The capital of France is", 8));
  EXPECT_TRUE(server.settles());
  EXPECT_EQ(server.metric(read), before);
  EXPECT_EQ(server.metric(trunk), trunk_before);
  EXPECT_GT(server.metric("sluice_expert_requests_total"), 0);
  EXPECT_EQ(server.metric("sluice_expert_hits_total"), server.metric("sluice_expert_requests_total"));
}

TEST(Serve, WithoutPreloadNothingIsReadBeforeSomebodyAsks) {
  const Served server({"--preload", "off"});
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  EXPECT_EQ(server.metric("sluice_read_bytes_total{what=\"trunk\"}"), 0);
  EXPECT_EQ(server.metric("sluice_read_bytes_total{what=\"experts\"}"), 0);
}

TEST(Serve, TimeIsUp) {
  const Served server({"--timeout", "1", "--slots", "1"});
  const HttpAnswer whole = server.post(kCompletionsPath, endless("The capital of France is", R"(,"n":32)"));
  EXPECT_EQ(whole.status, 504) << whole.body.substr(0, 300);
  ASSERT_TRUE(server.settles());
  const HttpAnswer stream =
      server.post(kCompletionsPath, endless("The capital of France is", R"(,"n":32,"stream":true)"));
  ASSERT_EQ(stream.status, 200);
  EXPECT_NE(stream.events().back().find("timeout"), std::string::npos);
  EXPECT_TRUE(server.settles());
}

TEST(Serve, TheLackOfATokenizerIsToldFirst) {
  const TempDir scratch;
  synthesize("olmoe", scratch / "model", {"--layers", "2"});
  const Outcome outcome = sluice({"serve", (scratch / "model").string(), "--port", "0", "--memory", "1M"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("has no tokenizer.json"), std::string::npos) << outcome.err;
}

TEST(Serve, StaysWithinItsBudget) {
  if (built_with_sanitizers()) GTEST_SKIP() << "sanitizers need memory of their own";
  const Arguments slots = {"--slots", "4", "--context", "2048"};
  const Outcome refusal = sluice(Arguments{"serve", demo_model().string(), "--memory", "1M"} + slots);
  EXPECT_EQ(refusal.exit_code, 3);
  std::smatch found;
  ASSERT_TRUE(std::regex_search(refusal.err, found, std::regex("--memory ([0-9]+)M"))) << refusal.err;
  Served server(slots + Arguments{"--memory", found[1].str() + "M"});
  std::string words;
  for (int word = 0; word < 600; ++word) words += "word ";
  std::vector<std::thread> clients;
  for (int client = 0; client < 8; ++client)
    clients.emplace_back([&] { EXPECT_EQ(server.post(kCompletionsPath, completion(words, 8)).status, 200); });
  for (std::thread& client : clients) client.join();
  server.program().send(SIGTERM);
  const Outcome outcome = server.program().finish();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_LE(static_cast<double>(outcome.peak_rss_bytes), std::stod(found[1]) * 1024 * 1024 * 1.02);
}

}  // namespace
}  // namespace sluice::test
