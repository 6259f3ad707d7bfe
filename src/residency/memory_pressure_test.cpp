// The share of time that tasks stalled: of the group or the system, over a whole window, and none where none is told.
#include "residency/memory_pressure.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;

class PressureGaugeTest : public testing::Test {
 protected:
  void write(const std::string& name, std::uint64_t microseconds) {
    const std::filesystem::path path = directory_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "some avg10=1.00 avg60=2.00 avg300=3.00 total=" << microseconds
                        << "\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n";
  }
  static PressureGauge::Clock::time_point at(int ms) { return PressureGauge::Clock::time_point(milliseconds(ms)); }
  test::TempDir directory_;
  MemoryFolders folders_{(directory_ / "proc").string(), (directory_ / "cgroup").string()};
};

TEST_F(PressureGaugeTest, WithoutItNothingStalls) {
  PressureGauge gauge(folders_);
  EXPECT_FALSE(gauge.tells());
  for (const int ms : {0, 2000, 4000}) EXPECT_EQ(gauge.stalled_share(at(ms)), 0);
}

TEST_F(PressureGaugeTest, CountsWhatIsNewInAWindow) {
  write("proc/pressure/memory", 7'000'000);  // before this run
  PressureGauge gauge(folders_);
  EXPECT_TRUE(gauge.tells());
  EXPECT_EQ(gauge.stalled_share(at(0)), 0);
  write("proc/pressure/memory", 7'300'000);
  EXPECT_EQ(gauge.stalled_share(at(500)), 0);  // the window is not over
  EXPECT_NEAR(gauge.stalled_share(at(1000)), 0.3, 1e-9);
  EXPECT_NEAR(gauge.stalled_share(at(1500)), 0.3, 1e-9);
  EXPECT_EQ(gauge.stalled_share(at(2000)), 0);
  write("proc/pressure/memory", 9'300'000);
  EXPECT_NEAR(gauge.stalled_share(at(6000)), 0.5, 1e-9);
}

TEST_F(PressureGaugeTest, TheGroupsOwnCountsToo) {
  write("proc/pressure/memory", 0);
  write("cgroup/a/b/memory.pressure", 0);
  std::filesystem::create_directories(directory_ / "proc/self");
  std::ofstream(directory_ / "proc/self/cgroup") << "0::/a/b\n";
  PressureGauge gauge(folders_);
  gauge.stalled_share(at(0));
  write("proc/pressure/memory", 100'000);
  write("cgroup/a/b/memory.pressure", 400'000);
  EXPECT_NEAR(gauge.stalled_share(at(1000)), 0.4, 1e-9);
}

}  // namespace
}  // namespace sluice
