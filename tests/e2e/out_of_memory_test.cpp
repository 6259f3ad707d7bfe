// An end for want of memory has a name: what the system refuses is a sentence and exit code 3, whatever is refused
// when; a server goes on; a note of the run lies there while it runs, for the case that the kernel ends it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <regex>
#include <thread>

#include "support/served.h"
#include "support/sluice_program.h"

namespace sluice::test {
namespace {

// With at most so many KiB of addresses.
Outcome limited(std::uint64_t kib, const Arguments& arguments) {
  std::string line = "ulimit -v " + std::to_string(kib) + "; exec " + sluice_path().string();
  for (const std::string& argument : arguments) line += " '" + argument + "'";
  return run_program("/bin/sh", {"-c", line});
}

Arguments request(const Arguments& more = {}) {
  return Arguments{"run", demo_model().string(), "--prompt", "One two three", "--max-tokens", "4", "--usage", "off"} +
         more;
}

// From where not even the program starts to where it runs.
TEST(OutOfMemory, EveryLimitEndsInAnAnswerOrASentence) {
  if (built_with_sanitizers()) GTEST_SKIP() << "a sanitizer takes terabytes of addresses";
  const std::string budget = std::to_string(memory_bounds(demo_model()).resident);
  int answered = 0, refused = 0;
  for (std::uint64_t mib = 12; mib <= 160 && answered < 2; mib += mib < 64 ? 1 : 16) {
    SCOPED_TRACE(mib);
    const Outcome outcome = limited(mib << 10, request({"--memory", budget, "--threads", "3"}));
    if (outcome.err.find("error while loading shared libraries") != std::string::npos) continue;
    if (outcome.exit_code == 0) {
      ++answered;
      continue;
    }
    ++refused;
    EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
    EXPECT_NE(outcome.err.find("sluice: the system refuses "), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("--memory"), std::string::npos) << outcome.err;
  }
  EXPECT_GT(answered, 0);
  EXPECT_GT(refused, 2);
}

// Without a budget the limit is one.
TEST(OutOfMemory, ALimitOnAddressesCountsForTheUsualBudget) {
  if (built_with_sanitizers()) GTEST_SKIP() << "a sanitizer takes terabytes of addresses";
  const Outcome outcome = limited(200 << 10, {"plan", demo_model().string(), "--json", "-"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_LT(nlohmann::json::parse(outcome.out).at("budget_bytes").get<std::uint64_t>(), 200u << 20);
}

// What is measured takes no more than there is: a container of 60 MiB would end a plan for it.
TEST(OutOfMemory, APlanMeasuresWithinTheLimit) {
  if (built_with_sanitizers()) GTEST_SKIP() << "a sanitizer takes terabytes of addresses";
  const Outcome outcome = limited(110 << 10, {"plan", demo_model().string(), "--threads", "1", "--json", "-"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json machine = nlohmann::json::parse(outcome.out).at("machine");
  EXPECT_GT(machine.at("memory_bytes_per_s"), 1e8);
  EXPECT_GT(machine.at("multiply_bytes_per_s"), 1e7);
}

// The note of a run says which process it is.
::pid_t process_beside(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::smatch found;
    const std::string name = entry.path().filename().string();
    if (std::regex_match(name, found, std::regex("usage\\.run-([0-9]+)-[0-9]+"))) return std::stoi(found[1]);
  }
  return -1;
}

TEST(OutOfMemory, ARequestEndsByNameAndTheServerGoesOn) {
  if (built_with_sanitizers()) GTEST_SKIP() << "a sanitizer takes terabytes of addresses";
  const TempDir scratch;
  Served server({"--usage", (scratch / "usage").string(), "--preload", "off"});
  const std::string request = R"({"model":"x","prompt":"One two three","max_tokens":4,"temperature":0})";
  const nlohmann::json before = server.posted("/v1/completions", request);
  const ::pid_t pid = process_beside(scratch.path());
  ASSERT_GT(pid, 0);
  std::uint64_t pages = 0;
  std::ifstream("/proc/" + std::to_string(pid) + "/statm") >> pages;
  ::rlimit limit{pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + (512 << 10), RLIM_INFINITY};
  ASSERT_EQ(::prlimit(pid, RLIMIT_AS, &limit, nullptr), 0);
  const HttpAnswer refused = server.post("/v1/completions", request);
  EXPECT_EQ(refused.status, 503) << refused.body;
  EXPECT_NE(refused.body.find("the system refuses "), std::string::npos) << refused.body;
  EXPECT_NE(refused.body.find("--memory "), std::string::npos) << refused.body;
  limit.rlim_cur = RLIM_INFINITY;
  ASSERT_EQ(::prlimit(pid, RLIMIT_AS, &limit, nullptr), 0);
  EXPECT_EQ(server.posted("/v1/completions", request).at("choices"), before.at("choices"));
}

TEST(OutOfMemory, ANoteLiesThereAsLongAsTheRunRuns) {
  const TempDir scratch;
  const auto notes = [&] {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(scratch.path()))
      count += entry.path().filename().string().find("usage.run-") == 0 ? 1 : 0;
    return count;
  };
  const Arguments usage = {"--usage", (scratch / "usage").string()};
  {
    Served server(usage);
    EXPECT_EQ(notes(), 1);
    server.program().send(SIGTERM);
    EXPECT_EQ(server.program().finish().exit_code, 0);
  }
  EXPECT_EQ(notes(), 0);
  {
    Served server(usage);
    server.program().send(SIGKILL);
    server.program().finish();
  }
  EXPECT_EQ(notes(), 1);
  // It was not the kernel that ended it, as its count says: nothing is told, and the note is gone.
  const Generated next = generated(demo_model(), Arguments{"--prompt", "One", "--max-tokens", "1"} + usage);
  EXPECT_EQ(next.outcome.err.find("want of memory"), std::string::npos) << next.outcome.err;
  EXPECT_EQ(notes(), 0);
}

}  // namespace
}  // namespace sluice::test
