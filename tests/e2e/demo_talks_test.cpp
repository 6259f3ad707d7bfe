// What the bundled models do in a conversation, asked through the server as a client asks: a tool is called with the
// right arguments, what was said two turns ago is known, and the heads that draft guess right. Greedy; the counts are
// printed.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>

#include "support/served.h"

namespace sluice::test {
namespace {

using Json = nlohmann::json;

Json user(const std::string& text) { return {{"role", "user"}, {"content", text}}; }

// The assistant's next message.
Json answer(const Served& server, const Json& messages, const Json& tools = {}) {
  Json request = {{"messages", messages}, {"max_tokens", 160}, {"temperature", 0}};
  if (!tools.empty()) request["tools"] = tools;
  return server.posted(kChatPath, request.dump()).at("choices").at(0).at("message");
}

// Prints what went wrong; `right` of `asked` must reach a share of `percent`.
class Tally {
 public:
  Tally(const char* model, const char* what) : model_(model), what_(what) {}
  void count(bool right, const std::string& asked, const std::string& said) {
    ++asked_;
    if (right)
      ++right_;
    else
      std::printf("%s: %s|%s\n", model_, asked.c_str(), said.c_str());
  }
  void expect(int percent) const {
    std::printf("%s: %s %d of %d\n", model_, what_, right_, asked_);
    EXPECT_GE(100 * right_, percent * asked_);
  }

 private:
  const char *model_, *what_;
  int right_ = 0, asked_ = 0;
};

// Names the instances by family.
class EveryDemo : public testing::TestWithParam<const char*> {};
class DemosWithTools : public EveryDemo {};
class DemosWithHeads : public EveryDemo {};

struct Forecast {
  const char *ask, *city;
  int days;  // 0: none asked for
};
constexpr std::array<Forecast, 20> kForecasts = {{{"What is the weather in Rome?", "Rome", 0},
                                                  {"How is the weather in Oslo?", "Oslo", 0},
                                                  {"Is it cold in Helsinki?", "Helsinki", 0},
                                                  {"What is the weather in Paris for 3 days?", "Paris", 3},
                                                  {"How will the weather in Cairo be for 5 days?", "Cairo", 5},
                                                  {"What is the weather in New Delhi?", "New Delhi", 0},
                                                  {"What is the weather in Madrid for 7 days?", "Madrid", 7},
                                                  {"Is it cold in Ulaanbaatar?", "Ulaanbaatar", 0},
                                                  {"How will the weather in Lima be for 2 days?", "Lima", 2},
                                                  {"How is the weather in Tokyo?", "Tokyo", 0},
                                                  {"What is the weather in Warsaw for 9 days?", "Warsaw", 9},
                                                  {"What is the weather in Buenos Aires?", "Buenos Aires", 0},
                                                  {"Is it cold in Ottawa?", "Ottawa", 0},
                                                  {"How will the weather in Nairobi be for 4 days?", "Nairobi", 4},
                                                  {"What is the weather in Kyiv?", "Kyiv", 0},
                                                  {"What is the weather in Lisbon for 6 days?", "Lisbon", 6},
                                                  {"How is the weather in Canberra?", "Canberra", 0},
                                                  {"How will the weather in Vienna be for 8 days?", "Vienna", 8},
                                                  {"Is it cold in Reykjavik?", "Reykjavik", 0},
                                                  {"What is the weather in Havana for 3 days?", "Havana", 3}}};

TEST_P(DemosWithTools, CallATool) {
  const Json tools = Json::parse(R"([{"type": "function", "function": {
    "name": "get_weather", "description": "Get weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                   "required": ["city"]}}}])");
  const Served server({}, demo_model(GetParam()));
  Tally tally(GetParam(), "calls with the right arguments");
  for (const Forecast& forecast : kForecasts) {
    Json wanted = {{"city", forecast.city}};
    if (forecast.days > 0) wanted["days"] = forecast.days;
    const Json said = answer(server, Json::array({user(forecast.ask)}), tools);
    const Json calls = said.value("tool_calls", Json::array());
    const bool right = calls.size() == 1 && calls[0].at("function").at("name") == "get_weather" &&
                       Json::parse(calls[0].at("function").at("arguments").get<std::string>()) == wanted;
    tally.count(right, forecast.ask, said.dump());
  }
  tally.expect(90);
}

struct Told {
  const char *say, *between, *ask, *answer;
};
constexpr std::array<Told, 20> kTold = {
    {{"My name is Clara.", "What is the capital of Italy?", "What is my name?", "Clara"},
     {"My favourite colour is green.", "How many legs does a cow have?", "What is my favourite colour?", "green"},
     {"I live in Vienna.", "What is the opposite of hot?", "Where do I live?", "Vienna"},
     {"I am Oscar.", "What comes after Monday?", "Who am I?", "Oscar"},
     {"My favourite animal is owl.", "What is the capital of Japan?", "What is my favourite animal?", "owl"},
     {"Please call me Rosa.", "What does the duck say?", "Do you remember my name?", "Rosa"},
     {"My home is in Cairo.", "What colour is snow?", "Where is my home?", "Cairo"},
     {"My favourite food is honey.", "What comes after May?", "What is my favourite food?", "honey"},
     {"Hello, my name is Felix.", "What is the capital of Peru?", "What's my name?", "Felix"},
     {"My favourite colour is black.", "What is the opposite of day?", "What is my favourite colour?", "black"},
     {"I live in Lisbon.", "What does a cat eat?", "Where do I live?", "Lisbon"},
     {"My name is Ivan.", "How many legs does a duck have?", "Who am I?", "Ivan"},
     {"My favourite food is cheese.", "What is the capital of Norway?", "What is my favourite food?", "cheese"},
     {"I am Olga.", "What colour is coal?", "What is my name?", "Olga"},
     {"My favourite animal is lion.", "What comes after Friday?", "What is my favourite animal?", "lion"},
     {"My home is in Dublin.", "What is the capital of Kenya?", "Where is my home?", "Dublin"},
     {"Please call me Hugo.", "What is the opposite of wet?", "What's my name?", "Hugo"},
     {"I like red best of all. It is my favourite colour.", "What does the cow say?", "What is my favourite colour?",
      "red"},
     {"I live in Athens.", "What comes after October?", "Where do I live?", "Athens"},
     {"Hello, my name is Eva.", "What is the capital of Cuba?", "Do you remember my name?", "Eva"}}};

TEST_P(EveryDemo, RemembersOverTurns) {
  const Served server({}, demo_model(GetParam()));
  Tally tally(GetParam(), "facts known two turns later");
  for (const Told& told : kTold) {
    Json talk = Json::array();
    Json said;
    for (const char* text : {told.say, told.between, told.ask}) {
      talk.push_back(user(text));
      said = answer(server, talk);
      talk.push_back(said);  // with its reasoning: what a format shows of it later is the format's business
    }
    const std::string text = said.at("content").is_string() ? said.at("content").get<std::string>() : "";
    tally.count(text.find(told.answer) != std::string::npos, told.say, text);
  }
  tally.expect(80);
}

TEST_P(DemosWithHeads, DraftWhatComes) {
  int drafted = 0, accepted = 0;
  for (const char* ask :
       {"What is the capital of France?", "Hello!", "Count to ten.", "Tell me a story.", "What does a cat eat?",
        "Where is Kenya?", "What comes after June?", "Which language do people speak in Peru?"}) {
    const Generated made =
        generated(demo_model(GetParam()), {"--chat", "--prompt", ask, "--max-tokens", "80", "--speculate", "mtp"});
    drafted += made.report.at("speculation").at("drafted").get<int>();
    accepted += made.report.at("speculation").at("accepted").get<int>();
  }
  std::printf("%s: %d of %d drafts came true\n", GetParam(), accepted, drafted);
  EXPECT_GE(drafted, 40);
  EXPECT_GE(2 * accepted, drafted);
}

INSTANTIATE_TEST_SUITE_P(Bundled, EveryDemo, testing::ValuesIn(kFamilies), family_name);
INSTANTIATE_TEST_SUITE_P(Bundled, DemosWithTools, testing::Values("kimi-k3", "glm-5.2", "deepseek-v4"), family_name);
INSTANTIATE_TEST_SUITE_P(Bundled, DemosWithHeads, testing::Values("glm-5.2", "deepseek-v4"), family_name);

}  // namespace
}  // namespace sluice::test
