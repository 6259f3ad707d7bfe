// What a request generates does not depend on who else is in the batch: ids and the bits of the logits are those of the
// request alone, whoever comes, goes or is cancelled meanwhile.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "engine/batcher.h"
#include "engine/engine_thread.h"
#include "engine/generate.h"
#include "support/engine/requests.h"
#include "support/golden_models.h"
#include "support/must.h"

namespace sluice::test {
namespace {

class Company : public testing::TestWithParam<const char*> {
 protected:
  // Everything resident, or as little as runs.
  std::unique_ptr<Engine> open(int slots, bool roomy, int chunk) const {
    return open_golden(GetParam(), Speculate::off, slots, roomy, chunk);
  }
};

TEST_P(Company, ChangesNothing) {
  for (const auto& [slots, roomy, chunk] : {std::tuple{3, true, 16}, {4, false, 8}, {2, false, 1}}) {
    const unsigned seed = static_cast<unsigned>(slots);
    SCOPED_TRACE(testing::Message() << slots << " slots, seed " << seed);
    std::mt19937 random(seed);
    std::vector<Request> requests(10);
    std::vector<Answer> wanted;
    const std::unique_ptr<Engine> one = open(1, true, 0);
    for (Request& request : requests) {
      request = random_request(random);
      wanted.push_back(alone(*one, request));
    }
    const std::unique_ptr<Engine> many = open(slots, roomy, chunk);
    Batcher batcher(*many);
    std::vector<std::shared_ptr<Recorder>> recorders;
    for (std::size_t come = 0; come < requests.size() || !batcher.idle();) {
      while (come < requests.size() && (batcher.idle() || random() % 3 == 0)) {
        recorders.push_back(std::make_shared<Recorder>());
        batcher.add(requests[come++], recorders.back());
        if (random() % 2 == 0)  // and one that will leave early: in the queue, in its prompt or in its answer
          batcher.add(random_request(random), std::make_shared<Recorder>(static_cast<int>(random() % 20)));
      }
      batcher.step();
      ASSERT_LE(batcher.running(), static_cast<std::size_t>(slots));
    }
    for (std::size_t index = 0; index < requests.size(); ++index) {
      EXPECT_EQ(recorders[index]->times_finished, 1);
      EXPECT_EQ(recorders[index]->answer, wanted[index]) << "request " << index;
    }
  }
}

// The same through the engine's own thread, with requests from several others.
TEST_P(Company, ChangesNothingOverThreads) {
  constexpr int kClients = 4, kEach = 3;
  std::mt19937 random(5);
  std::vector<Request> requests(kClients * kEach);
  std::vector<Answer> wanted;
  const std::unique_ptr<Engine> engine = open(3, true, 16);
  for (Request& request : requests) {
    request = random_request(random);
    wanted.push_back(alone(*engine, request));
  }
  std::vector<std::shared_ptr<Recorder>> recorders;
  for (std::size_t index = 0; index < requests.size(); ++index) recorders.push_back(std::make_shared<Recorder>());
  {
    EngineThread thread(*engine, 64);
    std::vector<std::thread> clients;
    for (std::size_t client = 0; client < kClients; ++client)
      clients.emplace_back([&, client] {
        for (std::size_t index = client; index < requests.size(); index += kClients) {
          const auto fickle = std::make_shared<Recorder>();
          std::vector<EngineThread::Job> jobs = {{requests[index], recorders[index]}, {requests[index], fickle}};
          must(thread.submit(std::move(jobs)));
          fickle->cancel_now = true;
          while (recorders[index]->times_finished == 0) std::this_thread::yield();
        }
      });
    for (std::thread& client : clients) client.join();
    while (!thread.idle()) std::this_thread::yield();
  }
  for (std::size_t index = 0; index < requests.size(); ++index)
    EXPECT_EQ(recorders[index]->answer, wanted[index]) << "request " << index;
}

TEST_P(Company, TheQueueIsBoundedAndEveryoneHearsTheEnd) {
  const std::unique_ptr<Engine> engine = open(2, true, 16);
  Request endless;
  endless.prompt = {1};
  endless.max_tokens = 100;
  std::vector<std::shared_ptr<Recorder>> inside;
  {
    EngineThread thread(*engine, 3);
    for (int request = 0; request < 5; ++request) {
      inside.push_back(std::make_shared<Recorder>());
      must(thread.submit({{endless, inside.back()}}));
    }
    // Two slots and a queue of three never hold six at once.
    const auto six = std::vector<EngineThread::Job>(6, {endless, std::make_shared<Recorder>()});
    const Result<> refused = thread.submit(six);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::bad_input);
    thread.drain();
    EXPECT_FALSE(thread.submit({{endless, std::make_shared<Recorder>()}}));
  }
  for (const auto& recorder : inside) EXPECT_EQ(recorder->times_finished, 1);
}

TEST_P(Company, TheThreadCountsForwardPasses) {
  const std::unique_ptr<Engine> engine = open(1, true, 16);
  std::atomic<std::uint64_t> passes = 0;
  engine->observe({}, [&](int layer, Rows) { passes += layer == 0 ? 1 : 0; });
  EngineThread thread(*engine, 3);
  Request request;
  request.prompt = {1};
  request.max_tokens = 5;
  const auto fickle = std::make_shared<Recorder>(0);
  must(thread.submit({{request, std::make_shared<Recorder>()}, {request, fickle}}));
  while (!thread.idle() || thread.load().running > 0) std::this_thread::yield();
  EXPECT_EQ(thread.load().steps, passes);
  must(thread.submit({{request, std::make_shared<Recorder>(0)}}));  // has left before anything is computed for it
  while (!thread.idle()) std::this_thread::yield();
  must(thread.submit({{request, std::make_shared<Recorder>()}}));
  while (!thread.idle() || thread.load().running > 0) std::this_thread::yield();
  EXPECT_EQ(thread.load().steps, passes);
}

INSTANTIATE_TEST_SUITE_P(Models, Company, testing::ValuesIn(kGoldenModels), golden_model_name);

}  // namespace
}  // namespace sluice::test
