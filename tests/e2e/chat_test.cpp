// sluice chat, through a pipe and on a terminal.
#include <gmock/gmock.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "support/file_text.h"
#include "support/sluice_program.h"
#include "support/temp_dir.h"
#include "support/terminal.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::Not;

Arguments chat_arguments(const Arguments& more = {}) {
  return Arguments{"chat", demo_model().string(), "--temperature", "0"} + more;
}

std::vector<nlohmann::json> lines_of(const std::filesystem::path& file) {
  std::vector<nlohmann::json> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

TEST(Chat, APipeGetsAnswersAndNothingElse) {
  const Outcome outcome = sluice(chat_arguments({"--quiet"}),
                                 "What is the capital of France?\n\n/frobnicate\nWhat is the capital of Italy?");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "The capital of France is Paris.\nThe capital of Italy is Rome.\n");
  EXPECT_THAT(outcome.err, HasSubstr("/frobnicate is no command"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("The user asks")));  // --quiet: no reasoning
}

TEST(Chat, EveryDemoAnswersAsRunDoes) {
  for (const char* name : {"kimi-k3", "glm-5.2", "olmoe", "deepseek-v4"}) {
    const std::string model = demo_model(name).string();
    const Arguments greedy = {"--temperature", "0", "--quiet"};
    const Outcome talked = sluice(Arguments{"chat", model} + greedy, "What is the capital of Japan?\n");
    const Outcome ran = sluice(Arguments{"run", model, "--chat", "--prompt", "What is the capital of Japan?"} + greedy);
    EXPECT_THAT(talked.out, HasSubstr("Tokyo")) << name;
    EXPECT_EQ(talked.out, ran.out) << name;
  }
}

TEST(Chat, TheHistoryIsAppendedAndReadAtTheNextStart) {
  const TempDir scratch;
  const std::string file = (scratch / "talk.jsonl").string();
  const Arguments keep = {"--history", file, "--quiet"};
  EXPECT_EQ(
      sluice(chat_arguments(keep + Arguments{"--system", "Be brief."}), "What is the capital of France?\n").exit_code,
      0);
  const std::string before = file_text(file);
  EXPECT_EQ(sluice(chat_arguments(keep), "What is the capital of Italy?\n").exit_code, 0);
  EXPECT_TRUE(file_text(file).starts_with(before));
  const std::vector<nlohmann::json> lines = lines_of(file);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0].at("role"), "system");
  EXPECT_EQ(lines[2].at("content"), "The capital of France is Paris.");
  EXPECT_THAT(lines[2].at("reasoning_content").get<std::string>(), HasSubstr("Paris"));
  EXPECT_EQ(lines[4].at("role"), "assistant");

  std::ofstream(file, std::ios::app) << "{\"role\": \"king\", \"content\": \"\"}\n";
  const Outcome damaged = sluice(chat_arguments(keep), "Hello\n");
  EXPECT_EQ(damaged.exit_code, 1);
  EXPECT_THAT(damaged.err, HasSubstr("line 6"));
}

TEST(Chat, CommandsChangeTheConversation) {
  const TempDir scratch;
  const std::string file = (scratch / "talk.jsonl").string();
  const std::string saved = (scratch / "saved.jsonl").string();
  const std::string input =
      "/regen\nWhat is the capital of France?\n/regen\n/think off\nWhat is the capital of Italy?\n" +
      ("/save " + saved) + "\n/undo\n/stats\n/help\n/system Be kind.\n/new\n/load " + saved +
      "\nWhat is the capital of Japan?\n/load /nowhere/at/all\n/quit\nnever said\n";
  const Outcome outcome = sluice(chat_arguments({"--history", file}), input);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "The capital of France is Paris.\nThe capital of France is Paris.\nThe capital of Italy is Rome.\n"
            "The capital of Japan is Tokyo.\n");
  for (const char* said : {"there is no answer to give again", "tokens/s", "/load FILE", "cannot read /nowhere/at/all"})
    EXPECT_THAT(outcome.err, HasSubstr(said));
  EXPECT_EQ(lines_of(saved).size(), 4u);
  EXPECT_FALSE(lines_of(saved)[3].contains("reasoning_content"));  // /think off
  const std::vector<nlohmann::json> kept = lines_of(file);         // up to /new, after /undo
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept[0].at("content"), "Be kind.");
  EXPECT_EQ(kept[2].at("content"), "The capital of France is Paris.");
}

TEST(Chat, AFullContextIsToldAndTheConversationGoesOn) {
  std::string input = "What is the capital of France?\n";
  for (int word = 0; word < 200; ++word) input += "one two three ";
  const Outcome outcome =
      sluice(chat_arguments({"--context", "200", "--quiet"}), input + "\nWhat is the capital of Italy?\n");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("the context holds 200"));
  EXPECT_EQ(outcome.out, "The capital of France is Paris.\nThe capital of Italy is Rome.\n");
}

TEST(Chat, SameSeedSameConversation) {
  const std::string input = "Tell me a story.\n/regen\n";
  const Arguments drawn = {"chat", demo_model().string(), "--quiet", "--temperature", "1"};
  const Outcome first = sluice(drawn + Arguments{"--seed", "7"}, input);
  EXPECT_EQ(first.out, sluice(drawn + Arguments{"--seed", "7"}, input).out);
  EXPECT_NE(first.out, sluice(drawn + Arguments{"--seed", "8"}, input).out);
  const std::size_t half = first.out.find('\n');
  EXPECT_NE(first.out.substr(0, half), first.out.substr(half + 1, half));  // /regen draws anew
}

TEST(Chat, ATerminalEditsLinesAndDimsReasoning) {
  Terminal terminal(sluice_path(), chat_arguments());
  ASSERT_TRUE(terminal.shows("/help")) << terminal.screen();
  ASSERT_TRUE(terminal.shows(">\x1b[0m "));
  terminal.type("What is the capital of Italx\x7fy?\r");
  ASSERT_TRUE(terminal.shows("\x1b[2mThe user asks")) << terminal.screen();
  ASSERT_TRUE(terminal.shows("\x1b[0m"));
  ASSERT_TRUE(terminal.shows("The capital of Italy is Rome.")) << terminal.screen();
  ASSERT_TRUE(terminal.shows(">\x1b[0m "));
  terminal.type("\x1b[A\r");  // the line before
  ASSERT_TRUE(terminal.shows("The capital of Italy is Rome.")) << terminal.screen();
  ASSERT_TRUE(terminal.shows(">\x1b[0m "));
  terminal.type("never asked\x03");
  ASSERT_TRUE(terminal.shows("Ctrl-D or /quit ends")) << terminal.screen();
  EXPECT_EQ(terminal.finish("\x04"), 0) << terminal.screen();
}

// What was said once is all that is ever said: such an answer ends when the context is full, many seconds later.
const Arguments kEndless = {"--presence-penalty", "-100", "--threads", "1", "--think", "off"};

TEST(Chat, CtrlCStopsTheAnswerAndNotTheProgram) {
  Terminal terminal(sluice_path(), chat_arguments(kEndless));
  ASSERT_TRUE(terminal.shows(">\x1b[0m ")) << terminal.screen();
  terminal.type("Tell me a story.\r");
  ASSERT_TRUE(terminal.shows("story.\r\n"));
  ASSERT_TRUE(terminal.shows("The")) << terminal.screen();  // the answer has begun
  terminal.type("\x03");
  ASSERT_TRUE(terminal.shows("(stopped)")) << terminal.screen();
  terminal.type("/stats\r");
  ASSERT_TRUE(terminal.shows("(cancelled)")) << terminal.screen();
  terminal.type("/quit\r");
  EXPECT_EQ(terminal.finish(), 0);
}

TEST(Chat, InterruptedInAPipeEndsWith130) {
  RunningProgram program(sluice_path(), chat_arguments(kEndless), "Tell me a story.\nAnd another one.\n");
  for (int wait = 0; wait < 600 && program.out_so_far().empty(); ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ASSERT_NE(program.out_so_far(), "") << program.err_so_far();
  program.send(SIGINT);
  EXPECT_EQ(program.finish().exit_code, 130);
}

}  // namespace
}  // namespace sluice::test
