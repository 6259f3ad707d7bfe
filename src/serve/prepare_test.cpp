// Tests of prepare.h, of what a request costs and means before the engine sees it.
#include "serve/prepare.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "engine/survey.h"
#include "support/must.h"
#include "support/sluice_program.h"

namespace sluice::serve {
namespace {

// The bundled Kimi K3, without its weights.
class Prepare : public testing::Test {
 protected:
  Prepare() : known_(test::must(know_model(test::demo_model().string()))) {
    chat_ = test::must(known_.config->open_chat(*known_.tokenizer, known_.directory));
    model_.name = "m";
    model_.config = known_.config.get();
    model_.tokenizer = known_.tokenizer.get();
    model_.chat = chat_.get();
    model_.context = 1000;
    model_.order = std::async(std::launch::deferred, [this] {
                     ++orders_;
                     return order_of(*known_.tokenizer, known_.config->vocab_size());
                   }).share();
  }
  ApiResult<Prepared> chat(const std::string& more) const {
    return prepare_chat(model_, R"({"messages":[{"role":"user","content":"Hi"}])" + more + "}", {});
  }

  KnownModel known_;
  std::unique_ptr<ChatFormat> chat_;
  ServedModel model_;
  int orders_ = 0;
};

TEST_F(Prepare, TheVocabularyIsSortedOnceAndOnlyForForms) {
  EXPECT_TRUE(chat(""));
  EXPECT_TRUE(prepare_completion(model_, R"({"prompt":"Hi"})", {}));
  EXPECT_EQ(orders_, 0);
  EXPECT_TRUE(chat(R"(,"response_format":{"type":"json_object"})"));
  EXPECT_TRUE(prepare_completion(model_, R"({"prompt":"Hi","grammar":"root ::= \"a\""})", {}));
  EXPECT_EQ(orders_, 1);
}

TEST_F(Prepare, AToolIsNamedByWhatItIsCalledHoweverThatIsSpelled) {
  const std::string tool = R"(,"tools":[{"type":"function","function":{"name":"l\u006fok","parameters":{}}}])";
  const auto prepared = chat(tool + R"(,"tool_choice":{"type":"function","function":{"name":"look"}})");
  EXPECT_TRUE(prepared) << prepared.error().message;
  EXPECT_FALSE(chat(tool + R"(,"tool_choice":{"type":"function","function":{"name":"lo"}})"));
}

}  // namespace
}  // namespace sluice::serve
