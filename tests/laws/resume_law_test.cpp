// What earlier requests left behind changes no answer: a prompt that goes on from a kept sequence, leaves it half-way
// or repeats it is answered as by an engine that never saw anything.
#include <gtest/gtest.h>

#include <random>
#include <tuple>

#include "engine/kept_sequences.h"
#include "engine/session_file.h"
#include "support/engine/law_options.h"
#include "support/engine/requests.h"
#include "support/golden_models.h"
#include "support/must.h"
#include "support/temp_dir.h"

namespace sluice::test {
namespace {

class Resumption : public testing::TestWithParam<const char*> {
 protected:
  static constexpr std::uint64_t kSpare = 16 << 20;
  std::unique_ptr<Engine> open(int slots, Speculate how = Speculate::off, std::uint64_t spare = 0) const {
    EngineOptions options = law_options();
    options.session_bytes = spare;
    options.slots = slots;
    options.speculate = how;
    options.prefill_chunk = 16;
    return open_golden(GetParam(), options);
  }
  std::unique_ptr<Engine> fresh() const { return open(1); }
  Answer wanted(const Request& request) const { return alone(*fresh(), request); }
  static std::vector<int> joined(std::vector<int> text, const std::vector<int>& more) {
    text.insert(text.end(), more.begin(), more.end());
    return text;
  }
  static Request turn(std::vector<int> prompt, int max_tokens = 6) {
    Request request;
    request.prompt = std::move(prompt);
    request.max_tokens = max_tokens;
    return request;
  }
};

TEST_P(Resumption, ANextTurnComputesOnlyWhatIsNew) {
  for (const Speculate how : {Speculate::off, Speculate::automatic}) {
    const std::unique_ptr<Engine> engine = open(1, how);
    std::vector<int> text = {11, 12, 13, 14, 15, 16, 17};
    std::size_t computed = 0;  // what is known when the turn begins, but for its last tokens
    for (int turns = 0; turns < 4; ++turns) {
      const Request request = turn(text);
      const auto answered = run_alone(*engine, request);
      EXPECT_EQ(answered->answer, wanted(request));
      EXPECT_GE(answered->generation.cached, computed);
      text = joined(text, answered->answer.ids);
      computed = text.size() - (how == Speculate::off ? 1 : 8);
      text = joined(text, {21, 22, 23 + turns});
    }
  }
}

TEST_P(Resumption, AnEditedLastMessageUsesWhatStands) {
  const std::unique_ptr<Engine> engine = open(1, Speculate::off, kSpare);  // with room for marks and forks
  const std::vector<int> first = {11, 12, 13, 14, 15, 16, 17};
  const std::vector<int> reply = run_alone(*engine, turn(first))->answer.ids;
  const std::vector<int> both = joined(first, reply);
  const Request second = turn(joined(both, {31, 32, 33, 34})), edited = turn(joined(both, {31, 42, 43}));
  EXPECT_EQ(run_alone(*engine, second)->answer, wanted(second));
  const auto answered = run_alone(*engine, edited);
  EXPECT_EQ(answered->answer, wanted(edited));
  EXPECT_GE(answered->generation.cached, first.size());
  const auto again = run_alone(*engine, second);  // as it was before: the fork left it alone
  EXPECT_EQ(again->answer, wanted(second));
  EXPECT_GE(again->generation.cached, first.size());
}

TEST_P(Resumption, AnotherProcessGoesBackToAMark) {
  const TempDir dir;
  const std::string path = (dir / "saved").string();
  const std::vector<int> first = {11, 12, 13, 14, 15, 16, 17};
  std::vector<int> both;
  {
    const std::unique_ptr<Engine> engine = open(1, Speculate::off, kSpare);
    both = joined(first, run_alone(*engine, turn(first))->answer.ids);
    run_alone(*engine, turn(joined(both, {31, 32, 33, 34})));
    must(save_session(*engine, path));
  }
  const std::unique_ptr<Engine> engine = open(1, Speculate::off, kSpare);
  must(load_session(*engine, path));
  const Request edited = turn(joined(both, {31, 42, 43}));
  const auto answered = run_alone(*engine, edited);
  EXPECT_EQ(answered->answer, wanted(edited));
  EXPECT_GE(answered->generation.cached, first.size());

  EngineOptions narrow = law_options();
  narrow.kv = RowFormat::bf16;
  const std::unique_ptr<Engine> other = open_golden(GetParam(), narrow);
  const Result<SavedTokens> refused = load_session(*other, path);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("--kv"), std::string::npos) << refused.error().what;
}

// A head that cannot go back as far as the model's state is left behind; one that stays stands where the state stands.
TEST_P(Resumption, AHeadThatCannotGoBackIsLeftBehind) {
  const std::unique_ptr<Engine> engine = open(1, Speculate::automatic, kSpare);
  if (engine->model().draft_head() == nullptr) GTEST_SKIP() << "no head drafts";
  HeadDrafter head(*engine);
  const int rows = 40;
  const std::vector<int> next(rows, 5);
  for (int first = 0; first < rows; first += 8)
    ASSERT_TRUE(head.follow(engine->hidden().slice(0, 8), std::span(next).first(8)));
  ASSERT_EQ(head.length(), rows);
  EXPECT_FALSE(head.rollback(rows + 1));
  EXPECT_EQ(head.length(), rows);
  EXPECT_TRUE(head.rollback(rows - 1));
  EXPECT_EQ(head.length(), rows - 1);
  ASSERT_TRUE(head.settled());
  const bool goes_back = head.fork()->rollback(1);
  EXPECT_EQ(goes_back, head.bytes() > 0 && (*head.settled())->reachable(1) == 1);

  // The prompt's end is marked in the model's state, so the state goes back to it; the head has no marks.
  std::vector<int> text(30);
  for (std::size_t token = 0; token < text.size(); ++token) text[token] = static_cast<int>(10 + token);
  const std::vector<int> reply = run_alone(*engine, turn(text, 60))->answer.ids;
  const KeptSequence taken = engine->kept().take(joined(text, {reply[0], 7, 7, 7}), 0);
  ASSERT_NE(taken.state, nullptr);
  if (taken.head != nullptr) {
    EXPECT_EQ(taken.head->length(), taken.state->length());
  }
}

// Prompts made of pieces of earlier ones, in company, by engines with room and without.
TEST_P(Resumption, NoHistoryChangesAnAnswer) {
  for (const auto& [slots, how, spare] : {std::tuple{1, Speculate::off, std::uint64_t{0}},
                                          {2, Speculate::lookup, std::uint64_t{0}},
                                          {3, Speculate::automatic, kSpare}}) {
    SCOPED_TRACE(slots);
    std::mt19937 random(static_cast<unsigned>(slots));
    const std::unique_ptr<Engine> engine = open(slots, how, spare), plain = fresh();
    std::vector<std::vector<int>> texts = {{1, 2, 3}};
    std::size_t cached = 0;
    for (int round = 0; round < 8; ++round) {
      Batcher batcher(*engine);
      std::vector<Request> requests(1 + random() % 4);
      std::vector<std::shared_ptr<Recorder>> recorders;
      for (Request& request : requests) {
        request = random_request(random);
        std::vector<int> begin = texts[random() % texts.size()];
        begin.resize(random() % (begin.size() + 1));
        request.prompt = joined(begin, request.prompt);
        request.prompt.resize(std::min<std::size_t>(request.prompt.size(), 100));
        recorders.push_back(std::make_shared<Recorder>());
        batcher.add(request, recorders.back());
      }
      while (!batcher.idle()) batcher.step();
      for (std::size_t index = 0; index < requests.size(); ++index) {
        plain->kept().clear();
        EXPECT_EQ(recorders[index]->answer, alone(*plain, requests[index])) << "round " << round << ", " << index;
        cached += recorders[index]->generation.cached;
        texts.push_back(joined(requests[index].prompt, recorders[index]->answer.ids));
      }
      EXPECT_LE(engine->kept().bytes(), engine->sequence_bytes() * static_cast<std::uint64_t>(slots) + spare + 4096);
    }
    if (spare > 0) {
      EXPECT_GT(cached, 0u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Resumption, testing::ValuesIn(kGoldenModels), golden_model_name);

}  // namespace
}  // namespace sluice::test
