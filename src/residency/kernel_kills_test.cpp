// Which count of killed processes decides: the group's where it can be read, else the system's.
#include "residency/kernel_kills.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace sluice {
namespace {

class KernelKillsTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = directory_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void SetUp() override { write("proc/vmstat", "nr_free_pages 12\noom_kill 5\noom_killer 99\n"); }
  test::TempDir directory_;
  MemoryFolders folders_{(directory_ / "proc").string(), (directory_ / "cgroup").string()};
};

TEST_F(KernelKillsTest, WithoutGroupsTheSystemCounts) {
  const KernelKills before = kernel_kills(folders_);
  EXPECT_EQ(before.of_system, 5u);
  EXPECT_FALSE(before.of_group.has_value());
  EXPECT_FALSE(killed_since(before, folders_));
  write("proc/vmstat", "oom_kill 6\n");
  EXPECT_TRUE(killed_since(before, folders_));
  write("proc/vmstat", "oom_kill 0\n");  // after a reboot
  EXPECT_FALSE(killed_since(before, folders_));
}

TEST_F(KernelKillsTest, AGroupsCountDecidesAsLongAsItCanBeRead) {
  write("proc/self/cgroup", "0::/user/session\n");
  write("cgroup/user/session/memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 0\n");
  const KernelKills before = kernel_kills(folders_);
  EXPECT_EQ(before.group_file, "/user/session/memory.events");
  EXPECT_EQ(before.of_group, 2u);
  write("proc/vmstat", "oom_kill 9\n");  // somebody elsewhere
  EXPECT_FALSE(killed_since(before, folders_));
  write("cgroup/user/session/memory.events", "oom 4\noom_kill 3\n");
  EXPECT_TRUE(killed_since(before, folders_));
  // Whoever asks may be in another group.
  write("proc/self/cgroup", "0::/elsewhere\n");
  EXPECT_TRUE(killed_since(before, folders_));
  std::filesystem::remove_all(directory_ / "cgroup/user/session");  // gone with its last process
  EXPECT_TRUE(killed_since(before, folders_));
  write("proc/vmstat", "oom_kill 5\n");
  EXPECT_FALSE(killed_since(before, folders_));
}

TEST_F(KernelKillsTest, AGroupWithoutACountTakesThatOfTheOneAbove) {
  write("proc/self/cgroup", "0::/user/session\n");
  write("cgroup/user/memory.events", "oom_kill 1\n");
  EXPECT_EQ(kernel_kills(folders_).group_file, "/user/memory.events");
}

TEST_F(KernelKillsTest, Version1CountsInItsOwnFile) {
  write("proc/self/cgroup", "3:cpu:/a\n4:memory:/a/b\n0::/\n");
  write("cgroup/memory/a/b/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n");
  const KernelKills kills = kernel_kills(folders_);
  EXPECT_EQ(kills.group_file, "/memory/a/b/memory.oom_control");
  EXPECT_EQ(kills.of_group, 7u);
}

}  // namespace
}  // namespace sluice
