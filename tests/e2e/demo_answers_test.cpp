// What the bundled models say, through the program: capitals as raw text and as a question in a conversation that ends
// by itself, and counting. They were trained on a closed world that holds these; greedy, with the default budget.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/sluice_program.h"

namespace sluice::test {
namespace {

struct Capital {
  const char* country;
  const char* city;
};
constexpr std::array<Capital, 12> kCapitals = {{{"France", "Paris"},
                                                {"Italy", "Rome"},
                                                {"Japan", "Tokyo"},
                                                {"Spain", "Madrid"},
                                                {"Egypt", "Cairo"},
                                                {"Norway", "Oslo"},
                                                {"Poland", "Warsaw"},
                                                {"Kenya", "Nairobi"},
                                                {"Peru", "Lima"},
                                                {"Cuba", "Havana"},
                                                {"Nepal", "Kathmandu"},
                                                {"Canada", "Ottawa"}}};
constexpr std::size_t kWrongAllowed = kCapitals.size() / 10;

// Those that learned anything: random ones say so in their config.
std::vector<std::string> bundled() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(demo_model().parent_path())) {
    const std::filesystem::path config = entry.path() / "config.json";
    if (!std::filesystem::exists(config)) continue;
    if (!nlohmann::json::parse(std::ifstream(config)).contains("sluice_synth"))
      names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

class DemoAnswers : public testing::TestWithParam<std::string> {
 protected:
  std::filesystem::path model() const { return demo_model(GetParam()); }
  nlohmann::json report(const std::string& prompt, int tokens, const Arguments& more = {}) const {
    return generated(model(), Arguments{"--prompt", prompt, "--max-tokens", std::to_string(tokens)} + more).report;
  }
};

TEST_P(DemoAnswers, KnowsCapitalsAsRawText) {
  std::size_t wrong = 0;
  for (const Capital& capital : kCapitals) {
    const std::string text =
        report(std::string("The capital of ") + capital.country + " is", 6).at("text").get<std::string>();
    if (text.starts_with(std::string(" ") + capital.city)) continue;
    ++wrong;
    std::printf("%s: %s|%s\n", GetParam().c_str(), capital.country, text.c_str());
  }
  std::printf("%s: %zu of %zu capitals as raw text\n", GetParam().c_str(), kCapitals.size() - wrong, kCapitals.size());
  EXPECT_LE(wrong, kWrongAllowed);
}

TEST_P(DemoAnswers, AnswersAQuestionAndStops) {
  std::size_t wrong = 0;
  for (const Capital& capital : kCapitals) {
    const nlohmann::json said = report(std::string("What is the capital of ") + capital.country + "?", 100, {"--chat"});
    const std::string text = said.at("text").get<std::string>();
    if (said.at("finish") == "stop" && text.find(capital.city) != std::string::npos) continue;
    ++wrong;
    std::printf("%s: %s|%s (%s)\n", GetParam().c_str(), capital.country, text.c_str(),
                said.at("finish").get<std::string>().c_str());
  }
  std::printf("%s: %zu of %zu capitals in a conversation\n", GetParam().c_str(), kCapitals.size() - wrong,
              kCapitals.size());
  EXPECT_LE(wrong, kWrongAllowed);
}

TEST_P(DemoAnswers, Counts) {
  const std::string text = report("one two three four five", 16).at("text").get<std::string>();
  EXPECT_TRUE(text.starts_with(" six seven eight nine")) << text;
}

INSTANTIATE_TEST_SUITE_P(Bundled, DemoAnswers, testing::ValuesIn(bundled()), [](const auto& instance) {
  std::string name = instance.param;
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace sluice::test
