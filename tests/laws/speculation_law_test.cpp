// Drafts change no answer: ids, bits of the logits and log probabilities are those of an engine that drafts nothing,
// greedy and sampled, alone and in company, at every budget, whatever is drafted.
#include <gtest/gtest.h>

#include <random>

#include "support/engine/law_options.h"
#include "support/engine/requests.h"
#include "support/golden_models.h"

namespace sluice::test {
namespace {

class Speculation : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Engine> open(Speculate how, int slots, bool roomy, int chunk) const {
    return open_golden(GetParam(), how, slots, roomy, chunk);
  }
  bool has_head() const { return open(Speculate::automatic, 1, true, 16)->model().draft_head() != nullptr; }
  // Few different tokens, so that a text repeats itself, and long enough to draft.
  static Request repetitive_request(std::mt19937& random) {
    Request request = random_request(random, 4);
    request.max_tokens = 1 + static_cast<int>(random() % 40);
    if (request.sampling.temperature > 0 && random() % 2 == 0) request.sampling.temperature = 0.2;
    return request;
  }
  void expect_company_changes_nothing(EngineOptions options);
};

TEST_P(Speculation, ChangesNothing) {
  std::size_t drafted = 0;
  std::vector<Speculate> ways = {Speculate::automatic, Speculate::lookup};
  if (has_head()) ways.push_back(Speculate::head);
  for (const Speculate how : ways) {
    const std::unique_ptr<Engine> plain = open(Speculate::off, 1, true, 0), many = open(how, 3, true, 16),
                                  tight = open(how, 1, false, 8);
    std::mt19937 random(3);
    std::vector<Request> requests(8);
    std::vector<Answer> wanted;
    for (Request& request : requests) {
      request = repetitive_request(random);
      wanted.push_back(alone(*plain, request));
      const auto drafting = run_alone(*tight, request);
      EXPECT_EQ(drafting->answer, wanted.back());
      EXPECT_LE(drafting->generation.accepted, drafting->generation.drafted);
      drafted += drafting->generation.drafted;
    }
    Batcher batcher(*many);
    std::vector<std::shared_ptr<Recorder>> recorders;
    for (std::size_t come = 0; come < requests.size() || !batcher.idle(); batcher.step())
      if (come < requests.size() && (batcher.idle() || random() % 3 == 0)) {
        recorders.push_back(std::make_shared<Recorder>());
        batcher.add(requests[come++], recorders.back());
      }
    for (std::size_t index = 0; index < requests.size(); ++index) {
      EXPECT_EQ(recorders[index]->answer, wanted[index]) << "request " << index;
      drafted += recorders[index]->generation.drafted;
    }
  }
  RecordProperty("drafted", static_cast<int>(drafted));
}

// A recurrent state is copied before rows that may go again: into memory of slots that nobody uses, or not at all.
TEST_P(Speculation, AutomaticCopiesTakeIdleMemoryAlone) {
  const std::unique_ptr<Engine> plain = open(Speculate::off, 1, true, 16),
                                idle = open(Speculate::automatic, 3, true, 16),
                                full = open(Speculate::automatic, 1, true, 16);
  if (plain->new_state()->shape().recurrent_bytes() == 0) GTEST_SKIP() << "nothing is copied";
  Request request;
  request.prompt = {5, 6, 7, 8};
  request.max_tokens = 40;
  const Answer wanted = alone(*plain, request);
  std::vector<int> text = request.prompt;
  text.insert(text.end(), wanted.ids.begin(), wanted.ids.end());
  request.drafts = [&](std::span<const int> known, int most) {
    const auto count = std::min(text.size() - known.size(), static_cast<std::size_t>(most));
    return std::vector<int>(text.begin() + static_cast<std::ptrdiff_t>(known.size()),
                            text.begin() + static_cast<std::ptrdiff_t>(known.size() + count));
  };
  const auto drafting = run_alone(*idle, request), not_drafting = run_alone(*full, request);
  EXPECT_EQ(drafting->answer, wanted);
  EXPECT_GT(drafting->generation.accepted, 0u);
  EXPECT_EQ(not_drafting->answer, wanted);
  EXPECT_EQ(not_drafting->generation.drafted, 0u);
}

// Requests that draft beside one another, against each alone and without drafts.
void Speculation::expect_company_changes_nothing(EngineOptions options) {
  options.prefill_chunk = 16;
  const std::unique_ptr<Engine> plain = open_golden(GetParam(), options);
  options.speculate = Speculate::lookup;
  options.slots = 3;
  const std::unique_ptr<Engine> many = open_golden(GetParam(), options, false);
  std::mt19937 random(5);
  Batcher batcher(*many);
  std::vector<Answer> wanted;
  std::vector<std::shared_ptr<Recorder>> recorders;
  for (int number = 0; number < 4; ++number) {
    const Request request = repetitive_request(random);
    wanted.push_back(alone(*plain, request));
    plain->kept().clear();
    recorders.push_back(std::make_shared<Recorder>());
    batcher.add(request, recorders.back());
  }
  while (!batcher.idle()) batcher.step();
  for (std::size_t index = 0; index < wanted.size(); ++index) EXPECT_EQ(recorders[index]->answer, wanted[index]);
}

TEST_P(Speculation, NorWithNarrowRowsOrInCompany) {
  EngineOptions options = law_options();
  options.kv = RowFormat::int8;
  expect_company_changes_nothing(options);
}

TEST_P(Speculation, NorInTheFastMode) {
  EngineOptions options = law_options();
  options.numerics = Numerics::fast;
  bool idle = false;
  options.warned = [&](const std::string&) { idle = true; };
  open_golden(GetParam(), options);
  if (idle) GTEST_SKIP() << "no matrix of it is whole numbers";
  expect_company_changes_nothing(options);
}

// Drafts of any quality: some right, some wrong from a place on, some of no sense. Recurrent states go back and are
// computed again.
TEST_P(Speculation, NoDraftChangesAnything) {
  const std::unique_ptr<Engine> plain = open(Speculate::off, 1, true, 0), one = open(Speculate::lookup, 1, true, 16),
                                tight = open(Speculate::lookup, 1, false, 5);
  std::mt19937 random(11);
  std::size_t drafted = 0, accepted = 0;
  for (int round = 0; round < 12; ++round) {
    Request request = repetitive_request(random);
    request.max_tokens = 40;
    const Answer wanted = alone(*plain, request);
    std::vector<int> text = request.prompt;
    text.insert(text.end(), wanted.ids.begin(), wanted.ids.end());
    request.drafts = [&](std::span<const int> known, int most) {
      std::vector<int> drafts(text.begin() + static_cast<std::ptrdiff_t>(known.size()), text.end());
      drafts.resize(std::min(drafts.size(), static_cast<std::size_t>(most)));
      if (random() % 2 == 0 && !drafts.empty()) drafts[random() % drafts.size()] = static_cast<int>(random() % 200);
      return drafts;
    };
    for (Engine* const engine : {one.get(), tight.get()}) {
      const auto answered = run_alone(*engine, request);
      EXPECT_EQ(answered->answer, wanted) << "round " << round;
      drafted += answered->generation.drafted;
      accepted += answered->generation.accepted;
    }
  }
  EXPECT_GT(accepted, 0u);
  EXPECT_LT(accepted, drafted);
}

// Drafts that are always right, and steps are saved.
TEST_P(Speculation, RightDraftsSaveSteps) {
  Request request;
  request.prompt = {3, 4, 5};
  request.max_tokens = 60;
  const Answer wanted = alone(*open(Speculate::off, 1, true, 16), request);
  std::vector<int> text = request.prompt;
  text.insert(text.end(), wanted.ids.begin(), wanted.ids.end());
  request.drafts = [&](std::span<const int> known, int most) {
    std::vector<int> drafts(text.begin() + static_cast<std::ptrdiff_t>(known.size()), text.end());
    drafts.resize(std::min(drafts.size(), static_cast<std::size_t>(most)));
    return drafts;
  };
  const std::unique_ptr<Engine> engine = open(Speculate::lookup, 1, true, 16);
  Batcher batcher(*engine);
  const auto recorder = std::make_shared<Recorder>();
  batcher.add(request, recorder);
  while (!batcher.idle()) batcher.step();
  EXPECT_EQ(recorder->answer, wanted);
  EXPECT_EQ(recorder->generation.accepted, recorder->generation.drafted);
  EXPECT_EQ(batcher.steps(), 60 - recorder->generation.accepted);
  EXPECT_GT(recorder->generation.accepted, 10u);
}

INSTANTIATE_TEST_SUITE_P(Models, Speculation, testing::ValuesIn(kGoldenModels), golden_model_name);

}  // namespace
}  // namespace sluice::test
