// A thousand clients that leave, and many more than fit: no slot is lost, no answer is lost or mixed up.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <mutex>
#include <random>
#include <thread>

#include "support/served.h"

namespace sluice::test {
namespace {

using Json = nlohmann::json;

constexpr const char* kCompletions = "/v1/completions";

std::string words(int count) {
  std::string text;
  for (int word = 0; word < count; ++word) text += "word ";
  return text;
}

// `frequency_penalty`: a token that was generated becomes likelier each time, so the answer never ends by itself.
std::string body(const std::string& prompt, int tokens, bool endless, bool stream) {
  Json json = {{"prompt", prompt}, {"temperature", 0}, {"max_tokens", tokens}, {"stream", stream}};
  if (endless) json["frequency_penalty"] = -100;
  return json.dump();
}

std::string text_of(const HttpAnswer& answer) { return Json::parse(answer.body).at("choices").at(0).at("text"); }

TEST(ServerCrowd, AThousandWhoLeaveTakeNothingAlong) {
  constexpr int kThreads = 8, kEach = 125;
  const Served server({"--slots", "3", "--queue", "200"});
  const std::string wanted = text_of(server.post(kCompletions, body("Water is", 12, false, false)));
  std::array<std::atomic<int>, 5> left = {};  // by phase
  std::atomic<int> wrong = 0;
  std::vector<std::thread> clients;
  for (unsigned thread = 0; thread < kThreads; ++thread)
    clients.emplace_back([&, thread] {
      std::mt19937 random(thread);
      for (int visit = 0; visit < kEach; ++visit) {
        const std::size_t phase = random() % 5;
        HttpConnection connection(server.port());
        const std::string request = request_text(
            "POST", kCompletions, body(phase == 3 ? words(600) : "The capital of France is", 3000, true, phase != 4));
        if (phase == 0) {  // in the middle of its request
          connection.send(request.substr(0, random() % request.size()));
        } else {
          connection.send(request);
          if (phase == 1) connection.read_until("\r\n\r\n");     // in the queue, or just out of it
          if (phase == 2) connection.read_until("\"text\":\"");  // in its answer
          if (phase == 3) std::this_thread::sleep_for(std::chrono::milliseconds(random() % 8));  // in its prompt
        }
        ++left[phase];
        if (visit % 25 == 24 && text_of(server.post(kCompletions, body("Water is", 12, false, false))) != wanted)
          ++wrong;
      }
    });
  for (std::thread& client : clients) client.join();
  int all = 0;
  for (const std::atomic<int>& count : left) all += count;
  EXPECT_EQ(all, kThreads * kEach);
  EXPECT_EQ(wrong, 0);
  const double steps = server.metric("sluice_engine_steps_total");
  EXPECT_TRUE(server.settles());
  EXPECT_LT(server.metric("sluice_engine_steps_total"), steps + 500) << "nobody is left to compute for";
  EXPECT_EQ(server.metric("sluice_sequences_running"), 0);
  EXPECT_EQ(server.metric("sluice_sequences_waiting"), 0);
  EXPECT_EQ(text_of(server.post(kCompletions, body("Water is", 12, false, false))), wanted);
  const double gone = server.metric("sluice_generations_total{status=\"499\"}");
  RecordProperty("generations that nobody waited for", static_cast<int>(gone));
  EXPECT_GT(gone, 400);
}

TEST(ServerCrowd, SixtyFourClientsGetTheirOwnAnswersOr429) {
  constexpr std::size_t kClients = 64, kEach = 12;
  const Served server({"--slots", "4", "--queue", "12"});
  const std::array<std::string, 6> prompts = {
      "The capital of France is", "One two three", "Water is", "My name", words(200), "Once"};
  std::array<std::string, 6> wanted;
  for (std::size_t which = 0; which < prompts.size(); ++which)
    wanted[which] = text_of(server.post(kCompletions, body(prompts[which], 16, false, false)));
  std::atomic<std::size_t> right = 0, refused = 0, mixed = 0, other = 0;
  std::mutex mutex;
  std::string first_wrong;
  std::vector<std::thread> clients;
  for (std::size_t client = 0; client < kClients; ++client)
    clients.emplace_back([&, client] {
      for (std::size_t visit = 0; visit < kEach; ++visit) {
        const std::size_t which = (client + visit) % prompts.size();
        const bool stream = (client + visit) % 2 == 0;
        const HttpAnswer answer = server.post(kCompletions, body(prompts[which], 16, false, stream));
        if (answer.status == 429 && !answer.header("retry-after").empty()) {
          ++refused;
          continue;
        }
        std::string text;
        if (answer.status == 200 && stream) {
          for (const std::string& event : answer.events())
            if (event != "[DONE]") text += Json::parse(event).at("choices").at(0).at("text").get<std::string>();
        } else if (answer.status == 200) {
          text = text_of(answer);
        }
        if (answer.status == 200 && text == wanted[which]) {
          ++right;
          continue;
        }
        ++(answer.status == 200 ? mixed : other);
        const std::lock_guard lock(mutex);
        first_wrong = prompts[which] + " -> " + answer.head + answer.body;
      }
    });
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(mixed, 0u) << first_wrong;
  EXPECT_EQ(other, 0u) << first_wrong;
  EXPECT_EQ(right + refused, kClients * kEach);
  EXPECT_GE(right, 16u) << "as many as fit";
  EXPECT_GT(refused, 0u) << "more came than fit";
  EXPECT_TRUE(server.settles());
  RecordProperty("right", static_cast<int>(right.load()));
  RecordProperty("refused", static_cast<int>(refused.load()));
}

}  // namespace
}  // namespace sluice::test
