// What a new user types wrong, command by command: one sentence of what is wrong and one of what to do, and the exit
// code.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/sluice_program.h"
#include "support/temp_dir.h"

namespace sluice::test {
namespace {

struct Wrong {
  Arguments arguments;
  int exit_code;
  std::string what, hint;  // parts of the two lines
};

void expect_refused(const Wrong& wrong) {
  SCOPED_TRACE(testing::PrintToString(wrong.arguments));
  const Outcome outcome = sluice(wrong.arguments);
  EXPECT_EQ(outcome.exit_code, wrong.exit_code) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 2) << outcome.err;
  EXPECT_EQ(outcome.err.find("sluice: "), 0u) << outcome.err;
  for (const std::string& part : {wrong.what, "\n  " + wrong.hint})
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << " is not in\n" << outcome.err;
}

TEST(FirstSteps, WordsThatACommandDoesNotKnowAreToldInItsName) {
  const std::string model = demo_model().string();
  for (const Wrong& wrong : std::vector<Wrong>{
           {{}, 2, "sluice needs a command: run, chat,", "see sluice --help"},
           {{"trace"}, 2, "sluice trace needs a command: replay, report", "see sluice trace --help"},
           {{"run"}, 2, "sluice run: MODEL is required", "see sluice run --help"},
           {{"inspect", model, "--memory", "1G"},
            2,
            "sluice inspect has no flag --memory",
            "see sluice inspect --help"},
           {{"bench", "io", model, "--threads", "2"},
            2,
            "sluice bench io has no flag --threads",
            "see sluice bench io"},
           {{"plan", model, "again"}, 2, "sluice plan does not know what to do with 'again'", "see sluice plan"},
           {{"run", model, "--threads", "0"}, 2, "--threads: Value 0 not in range", "see sluice run --help"}})
    expect_refused(wrong);
}

TEST(FirstSteps, ABudgetThatHoldsNothingIsToldWithAWayOut) {
  const std::string model = demo_model().string(), ids = (demo_model() / "config.json").string();
  for (const Arguments& command : std::vector<Arguments>{{"run", model, "--ids", "1"},
                                                         {"chat", model},
                                                         {"serve", model, "--port", "0"},
                                                         {"plan", model},
                                                         {"doctor", model},
                                                         {"bench", "token", model},
                                                         {"compare", model, model, "--text", ids}})
    expect_refused({command + Arguments{"--memory", "0"}, 2, "--memory: a budget of 0 bytes", "say the most"});
  expect_refused({{"compare", model, model, "--memory", "1K"}, 2, "no model is run", "give --text"});
  expect_refused({{"compare", model, model, "--text", ids, "--memory", "1K"},
                  3,
                  "1.00 KiB is below the minimum of",
                  "give it --memory"});
}

TEST(FirstSteps, AFolderWhereAFileShouldBeIsToldAsOne) {
  const TempDir scratch;
  const std::string folder = scratch.path().string();
  expect_refused({{"plan", "--config", folder}, 1, "--config: cannot read " + folder + ": it is a folder", "name the"});
  for (const char* command : {"report", "replay"})
    expect_refused({{"trace", command, folder}, 1, "cannot read " + folder + ": it is a folder", "a trace is written"});
  expect_refused({{"chat", demo_model().string(), "--history", folder + "/no/such"},
                  1,
                  "--history: cannot write " + folder + "/no/such: No such file",
                  "check that the folder"});
}

}  // namespace
}  // namespace sluice::test
