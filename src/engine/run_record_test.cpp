// The note of a run: removed at an orderly end, judged by the next run where it stays, with the kernel's counts of then
// and now; a process that lives, or another one with the same id, is told apart.
#include "engine/run_record.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/temp_dir.h"

namespace sluice {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

class RunRecordTest : public testing::Test {
 protected:
  void SetUp() override {
    kills(3);
    write("proc/sys/kernel/random/boot_id", "boot-a\n");
    process("self", 1000);
    process(std::to_string(::getpid()), 1000);
    std::filesystem::create_directories(directory_ / "proc/self/ns");
    std::filesystem::create_symlink("pid:[1]", directory_ / "proc/self/ns/pid");
  }
  void write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = directory_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void kills(int count) { write("proc/vmstat", "oom_kill " + std::to_string(count) + "\n"); }
  void process(const std::string& pid, int start, char state = 'S') {
    write("proc/" + pid + "/stat", "12 (a) name) " + std::string(1, state) +
                                       " 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 " + "20 21 " +
                                       std::to_string(start) + " 23 24\n");
  }
  void process_is_gone() { std::filesystem::remove_all(directory_ / "proc" / std::to_string(::getpid())); }
  std::unique_ptr<RunRecord> leave(std::uint64_t budget = 100 * kMiB) {
    return RunRecord::leave(usage_, budget, budget - kMiB / 2, folders_);
  }
  // As if the process had been killed: nobody removes the note.
  void leave_for_good(std::uint64_t budget = 100 * kMiB) {
    const auto record = leave(budget);
    ASSERT_NE(record, nullptr);
    std::filesystem::path path;
    for (const std::filesystem::path& note : notes()) path = note;
    const std::filesystem::path kept = directory_ / "kept";
    std::filesystem::copy_file(path, kept);
    copied_ = {kept, path};
  }
  void put_back() { std::filesystem::rename(copied_.first, copied_.second); }
  std::vector<std::filesystem::path> notes() const {
    std::vector<std::filesystem::path> found;
    std::error_code absent;
    for (const auto& entry : std::filesystem::directory_iterator(directory_ / "cache", absent))
      found.push_back(entry.path());
    return found;
  }
  std::optional<KilledRun> judged(Afterwards afterwards = Afterwards::forget) {
    return killed_run(usage_, folders_, afterwards);
  }

  test::TempDir directory_;
  MemoryFolders folders_{(directory_ / "proc").string(), (directory_ / "cgroup").string()};
  std::string usage_ = (directory_ / "cache/usage-1").string();
  std::pair<std::filesystem::path, std::filesystem::path> copied_;
};

TEST_F(RunRecordTest, AnOrderlyEndLeavesNothing) {
  {
    const auto record = leave();
    ASSERT_EQ(notes().size(), 1u);
    kills(4);
    EXPECT_FALSE(judged().has_value());  // it lives
    EXPECT_EQ(notes().size(), 1u);
  }
  EXPECT_TRUE(notes().empty());
}

TEST_F(RunRecordTest, ADeadProcessAndARisenCountAreTold) {
  leave_for_good(100 * kMiB);
  put_back();
  process_is_gone();
  kills(4);
  const auto looked_at = judged(Afterwards::keep);
  ASSERT_TRUE(looked_at.has_value());
  EXPECT_EQ(notes().size(), 1u);
  const auto killed = judged();
  ASSERT_TRUE(killed.has_value());
  EXPECT_EQ(killed->budget_bytes, 100 * kMiB);
  EXPECT_EQ(killed->planned_bytes, 100 * kMiB - kMiB / 2);
  EXPECT_GT(killed->began, 1'500'000'000);
  EXPECT_TRUE(notes().empty());  // told once
  EXPECT_FALSE(judged().has_value());

  const Error told = tell_of(*killed, 10 * kMiB);
  EXPECT_NE(told.what.find("with a budget of 100 MiB, of which it needed 99.5 MiB, was most likely ended by the kernel "
                           "for want of memory"),
            std::string::npos)
      << told.what;
  EXPECT_EQ(told.hint, "give a smaller budget: --memory 79M");
  EXPECT_EQ(tell_of({0, 1024 * kMiB, 50 * kMiB}, 10 * kMiB).hint,
            "give a smaller budget: --memory 40M");  // 819M is none
  EXPECT_EQ(tell_of({0, 50 * kMiB, 50 * kMiB}, 10 * kMiB).hint, "give a smaller budget: --memory 40M");
  EXPECT_NE(tell_of(*killed, 90 * kMiB).hint.find("90.0 MiB is the least"), std::string::npos);
}

TEST_F(RunRecordTest, ADeadProcessAloneSaysNothing) {
  leave_for_good();
  put_back();
  process_is_gone();
  EXPECT_FALSE(judged().has_value());
  EXPECT_TRUE(notes().empty());
}

TEST_F(RunRecordTest, AnotherProcessWithTheSameIdIsNotTheOne) {
  for (const char* how : {"later", "zombie"}) {
    SCOPED_TRACE(how);
    kills(3);
    process(std::to_string(::getpid()), 1000);
    leave_for_good();
    put_back();
    if (how == std::string("later"))
      process(std::to_string(::getpid()), 1001);
    else
      process(std::to_string(::getpid()), 1000, 'Z');
    kills(4);
    EXPECT_TRUE(judged().has_value());
  }
}

TEST_F(RunRecordTest, OfAnotherBootNothingIsKnown) {
  leave_for_good();
  put_back();
  process_is_gone();
  kills(4);
  write("proc/sys/kernel/random/boot_id", "boot-b\n");
  EXPECT_FALSE(judged().has_value());
  ASSERT_EQ(notes().size(), 1u);  // perhaps another machine's, with the same home folder
  std::filesystem::last_write_time(notes()[0],
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(24 * 31));
  EXPECT_FALSE(judged().has_value());
  EXPECT_TRUE(notes().empty());
}

TEST_F(RunRecordTest, OtherFilesAreLeftAlone) {
  std::filesystem::create_directories(directory_ / "cache");
  for (const char* name : {"usage-1", "usage-2.run-12-13", "usage-1.run-x", "notes"})
    write(std::string("cache/") + name, "sluice run 1\n");
  write("cache/usage-1.run-12-13", "sluice run 1\npid 12\nstart");  // cut short
  kills(4);
  EXPECT_FALSE(judged().has_value());
  EXPECT_EQ(notes().size(), 5u);
}

TEST_F(RunRecordTest, WhereNothingCanBeWrittenOrCountedThereIsNone) {
  write("file", "");
  EXPECT_EQ(RunRecord::leave((directory_ / "file/usage").string(), 1, 1, folders_), nullptr);
  std::filesystem::remove(directory_ / "proc/vmstat");
  EXPECT_EQ(leave(), nullptr);
  EXPECT_TRUE(notes().empty());
}

}  // namespace
}  // namespace sluice
