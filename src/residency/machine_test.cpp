// Limits of control groups count, wherever they are set; page cache does not.
#include "residency/machine.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace sluice {
namespace {

class MachineTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = directory_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  Machine machine() const { return memory_of_machine(directory_ / "proc", directory_ / "cgroup"); }

  void SetUp() override { write("proc/meminfo", "MemTotal:       1000 kB\nMemFree:  1 kB\nMemAvailable:    800 kB\n"); }
  test::TempDir directory_;
};

TEST_F(MachineTest, WithoutGroupsTheKernelsNumbersCount) {
  EXPECT_EQ(machine().total_bytes, 1000u * 1024);
  EXPECT_EQ(machine().available_bytes, 800u * 1024);
}

TEST_F(MachineTest, AVersion2LimitOfAnAncestorCounts) {
  write("proc/self/cgroup", "0::/outer/inner\n");
  write("cgroup/outer/inner/memory.max", "max\n");
  write("cgroup/outer/memory.max", "409600\n");
  write("cgroup/outer/memory.current", "204800\n");
  write("cgroup/outer/memory.stat", "anon 1\ninactive_file 51200\nactive_file 51200\n");
  EXPECT_EQ(machine().total_bytes, 409600u);
  EXPECT_EQ(machine().available_bytes, 409600u - 204800 + 102400);
}

TEST_F(MachineTest, WhereAGroupIsThrottledCountsAsItsLimit) {
  write("proc/self/cgroup", "0::/outer/inner\n");
  write("cgroup/outer/inner/memory.max", "max\n");
  write("cgroup/outer/inner/memory.high", "300000\n");
  write("cgroup/outer/inner/memory.current", "100000\n");
  EXPECT_EQ(machine().total_bytes, 300000u);
  EXPECT_EQ(machine().available_bytes, 200000u);
}

TEST_F(MachineTest, AVersion1LimitCountsAlsoWhenItsPathIsHidden) {
  write("proc/self/cgroup", "9:name=systemd:/x\n4:memory:/hidden/path\n");
  write("cgroup/memory/memory.limit_in_bytes", "500000\n");
  write("cgroup/memory/memory.usage_in_bytes", "600000\n");
  EXPECT_EQ(machine().total_bytes, 500000u);
  EXPECT_EQ(machine().available_bytes, 0u);
}

TEST(Machine, ThisOneHasMemoryAndCpus) {
  const Machine machine = this_machine();
  EXPECT_GT(machine.total_bytes, 64u << 20);
  EXPECT_GT(machine.available_bytes, 0u);
  EXPECT_LE(machine.available_bytes, machine.total_bytes);
  EXPECT_GE(machine.cpus, 1);
  EXPECT_GT(peak_resident_bytes(), 1u << 20);
}

}  // namespace
}  // namespace sluice
