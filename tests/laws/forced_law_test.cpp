// Tokens that a grammar leaves no choice about cost no pass of their own, and everything else stays as it is: ids, bits
// of the logits that were chosen from, in company, with drafts, in small chunks.
#include <gtest/gtest.h>

#include <random>

#include "support/engine/requests.h"
#include "support/golden_models.h"
#include "support/must.h"

namespace sluice::test {
namespace {

class Forced : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Engine> open(Speculate how, int slots, bool roomy, int chunk) const {
    return open_golden(GetParam(), how, slots, roomy, chunk);
  }
};

constexpr int kForced = 11;  // ids that stand fixed between two that are chosen

// (one of ten, eleven fixed ones)*: ids, as control tokens are.
HeldTo one_choice_in_twelve() {
  GrammarBuilder builder;
  std::vector<int> choices(10), fixed(kForced);
  for (int id = 0; id < 10; ++id) choices[static_cast<std::size_t>(id)] = 20 + id;
  for (int id = 0; id < kForced; ++id) fixed[static_cast<std::size_t>(id)] = 40 + id;
  const auto group = GrammarBuilder::Sequence{builder.any_id(choices)} + builder.ids(fixed);
  const GrammarBuilder::Symbol root = builder.choice({builder.repeat(group, 0, -1)});
  return {std::make_shared<const Grammar>(must(builder.finish(root))),
          std::make_shared<VocabularyOrder>(100, [](int) { return std::string_view(); })};
}

Request held_request(std::mt19937& random) {
  Request request = random_request(random);
  request.top_logprobs = -1;
  request.prompt_logprobs = false;
  request.max_tokens = 40;
  request.held_to = one_choice_in_twelve();
  return request;
}

struct Counted {
  std::shared_ptr<Recorder> recorder;
  std::uint64_t steps;
};
Counted counted_run(Engine& engine, const Request& request) {
  Batcher batcher(engine);
  auto recorder = std::make_shared<Recorder>();
  batcher.add(request, recorder);
  while (!batcher.idle()) batcher.step();
  return {recorder, batcher.steps()};
}

TEST_P(Forced, CostNoPassAndChangeNothing) {
  std::mt19937 random(5);
  for (int round = 0; round < 4; ++round) {
    Request request = held_request(random);
    Request unskipped = request;
    unskipped.skip_forced = false;
    const std::unique_ptr<Engine> plain = open(Speculate::off, 1, true, 64), skips = open(Speculate::off, 1, true, 64);
    const Counted wanted = counted_run(*plain, unskipped), made = counted_run(*skips, request);
    EXPECT_EQ(made.recorder->answer, wanted.recorder->answer);
    EXPECT_EQ(made.recorder->finish, wanted.recorder->finish);
    // 40 tokens: 4 chosen ones, three times 11 forced ones, and 3 forced ones at the end.
    EXPECT_EQ(wanted.steps, 40u);
    EXPECT_EQ(made.steps, 4u);
    EXPECT_EQ(made.recorder->generation.forced, 36u);
    EXPECT_EQ(wanted.recorder->generation.forced, 0u);
    Request again = request;
    again.recompute = true;
    EXPECT_EQ(alone(*plain, again), wanted.recorder->answer);
  }
}

TEST_P(Forced, LogProbabilitiesNeedEveryPass) {
  std::mt19937 random(6);
  Request request = held_request(random);
  request.top_logprobs = 1;
  const std::unique_ptr<Engine> engine = open(Speculate::off, 1, true, 64);
  const auto made = run_alone(*engine, request);
  EXPECT_EQ(made->answer.logprobs.size(), 40u);
  EXPECT_EQ(made->generation.forced, 0u);
}

// Beside sequences that are free, with drafts, in chunks that cut the forced tokens, and gone on with.
TEST_P(Forced, ChangeNothingInCompany) {
  const std::unique_ptr<Engine> plain = open(Speculate::off, 1, true, 0),
                                many = open(Speculate::automatic, 3, true, 16),
                                tight = open(Speculate::lookup, 1, false, 5);
  std::mt19937 random(7);
  std::vector<Request> requests(8);
  std::vector<Answer> wanted;
  for (std::size_t index = 0; index < requests.size(); ++index) {
    requests[index] = index % 3 == 0 ? random_request(random, 4) : held_request(random);
    Request unskipped = requests[index];
    unskipped.skip_forced = false;
    plain->kept().clear();
    wanted.push_back(alone(*plain, unskipped));
    EXPECT_EQ(alone(*tight, requests[index]), wanted.back()) << "request " << index;
  }
  Batcher batcher(*many);
  std::vector<std::shared_ptr<Recorder>> recorders;
  for (std::size_t come = 0; come < requests.size() || !batcher.idle(); batcher.step())
    if (come < requests.size() && (batcher.idle() || random() % 3 == 0)) {
      recorders.push_back(std::make_shared<Recorder>());
      batcher.add(requests[come++], recorders.back());
    }
  for (std::size_t index = 0; index < requests.size(); ++index)
    EXPECT_EQ(recorders[index]->answer, wanted[index]) << "request " << index;
  // What was forced last was not computed: who goes on from there computes it.
  Request next;
  next.prompt = requests[1].prompt;
  next.prompt.insert(next.prompt.end(), wanted[1].ids.begin(), wanted[1].ids.end());
  next.prompt.push_back(9);
  next.max_tokens = 5;
  plain->kept().clear();
  const Answer fresh = alone(*plain, next);
  EXPECT_EQ(alone(*many, next), fresh);
}

INSTANTIATE_TEST_SUITE_P(Models, Forced, testing::ValuesIn(kGoldenModels), golden_model_name);

}  // namespace
}  // namespace sluice::test
