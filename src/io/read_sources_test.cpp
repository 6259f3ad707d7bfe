// Mirrors: drives are used by their speed, and none of them can change a byte.
#include "io/read_sources.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>

#include "base/check.h"
#include "io/aligned.h"
#include "io/checked_queue.h"
#include "io/read_schedule.h"
#include "support/any_queue.h"
#include "support/faulty_files.h"
#include "support/memory_files.h"

namespace sluice {
namespace {

using test::must;

constexpr std::uint64_t kMiB = 1 << 20;

// Drives of given speeds read what a schedule gives them, in a time that is counted and not waited for.
class Drives {
 public:
  Drives(std::vector<double> rates, double believed) : rates_(std::move(rates)), free_at_(rates_.size(), 0) {
    files_.add(test::random_bytes(64, 1));
    std::vector<ReadSource> sources;
    for (std::size_t drive = 0; drive < rates_.size(); ++drive) sources.push_back({&files_, believed, "drive"});
    sources_ = std::make_unique<ReadSources>(std::move(sources));
    schedule_ = std::make_unique<ReadSchedule>(*sources_);
  }

  // Requests of so many bytes, `together` at a time; returns the seconds until all are there.
  double read(int requests, std::uint64_t bytes, int together) {
    const double begin = now_;
    const Extent extent{0, 0, bytes, 0};
    int asked = 0, done = 0;
    while (done < requests) {
      for (; asked < requests && asked < done + together; ++asked)
        schedule_->add(schedule_->request(0, {&extent, 1}, nowhere(bytes), landings_), Urgency::demand, {&extent, 1});
      start();
      done += finish_one() ? 1 : 0;
    }
    return now_ - begin;
  }
  // Reads ahead, all asked for at once; returns when each of them was there.
  std::vector<double> read_ahead(int requests, std::uint64_t bytes) {
    const double begin = now_;
    std::vector<double> landed;
    for (int request = 0; request < requests; ++request) {
      const Extent extent{0, 0, bytes, 0};
      schedule_->add(schedule_->request(static_cast<std::uint64_t>(request), {&extent, 1}, nowhere(bytes), landings_),
                     Urgency::next, {&extent, 1});
      landed.push_back(0);
    }
    for (int done = 0; done < requests;) {
      start();
      if (const std::optional<std::uint64_t> tag = finish_one()) landed[*tag] = now_ - begin, ++done;
    }
    return landed;
  }
  void becomes(std::size_t drive, double rate) { rates_[drive] = rate; }
  double bytes_of(std::size_t drive) const { return static_cast<double>(sources_->stats()[drive].bytes); }

 private:
  struct Flight {
    ReadPiece piece;
    double done = 0;
  };
  static constexpr int kReaders = 4;

  // Nothing is written.
  static std::span<std::byte> nowhere(std::uint64_t bytes) {
    return {reinterpret_cast<std::byte*>(kMiB), static_cast<std::size_t>(bytes)};
  }
  ReadSchedule::Clock::time_point time() const {
    return ReadSchedule::Clock::time_point(std::chrono::nanoseconds(static_cast<std::int64_t>(now_ * 1e9)));
  }
  void start() {
    for (std::size_t drive = 0; drive < rates_.size(); ++drive) {
      const int source = static_cast<int>(drive);
      while (std::ranges::count(flights_, source, [](const Flight& flight) { return flight.piece.source; }) <
             kReaders) {
        std::optional<ReadPiece> piece = schedule_->take(source, time());
        if (!piece) break;
        double& free_at = free_at_[drive];
        free_at = std::max(free_at, now_) + static_cast<double>(piece->window.bytes()) / rates_[drive];
        flights_.push_back({std::move(*piece), free_at});
      }
    }
  }
  // The tag of a request that is whole now.
  std::optional<std::uint64_t> finish_one() {
    SLUICE_CHECK(!flights_.empty());  // somebody always takes what waits
    const auto first = std::ranges::min_element(flights_, {}, &Flight::done);
    now_ = first->done;
    ReadPiece piece = std::move(first->piece);
    flights_.erase(first);
    const std::shared_ptr<ReadRequest> whole = schedule_->finish(std::move(piece), {}, time());
    return whole != nullptr ? std::optional(whole->tag) : std::nullopt;
  }

  test::MemoryFiles files_;
  std::vector<double> rates_, free_at_;
  std::unique_ptr<ReadSources> sources_;
  std::unique_ptr<ReadSchedule> schedule_;
  Landings landings_;
  std::vector<Flight> flights_;
  double now_ = 1;
};

struct Speeds {
  std::vector<double> rates;
  double believed;  // of each drive, at first
};

class ReadSourcesSplit : public testing::TestWithParam<Speeds> {};

TEST_P(ReadSourcesSplit, FollowsTheSpeedsAndReachesTheirSum) {
  const auto& [rates, believed] = GetParam();
  const double sum = std::accumulate(rates.begin(), rates.end(), 0.0);
  Drives drives(rates, believed);
  drives.read(20, 17'547'264, 16);  // what is believed comes to be known
  std::vector<double> before;
  for (std::size_t drive = 0; drive < rates.size(); ++drive) before.push_back(drives.bytes_of(drive));
  const double seconds = drives.read(200, 17'547'264, 16), bytes = 200 * 17'547'264.0;
  for (std::size_t drive = 0; drive < rates.size(); ++drive)
    EXPECT_NEAR((drives.bytes_of(drive) - before[drive]) / bytes, rates[drive] / sum, 0.04) << "drive " << drive;
  EXPECT_LT(seconds, bytes / sum / 0.9);
}

TEST_P(ReadSourcesSplit, OneRequestAtATimeIsNeverSlowerThanOnTheFastestDrive) {
  const auto& [rates, believed] = GetParam();
  Drives drives(rates, believed);
  drives.read(20, 17'547'264, 16);
  for (const std::uint64_t bytes : {std::uint64_t{14'336}, 3 * kMiB, std::uint64_t{17'547'264}}) {
    const double seconds = drives.read(50, bytes, 1);
    EXPECT_LT(seconds, 1.02 * 50 * static_cast<double>(bytes) / *std::ranges::max_element(rates)) << bytes;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, ReadSourcesSplit,
                         testing::Values(Speeds{{1e9, 1e9}, 0}, Speeds{{3e9, 1e9}, 0}, Speeds{{1e9, 3e9}, 1e9},
                                         Speeds{{2e8, 4e9}, 1e9}, Speeds{{5e9, 2e8, 1e9}, 0},
                                         Speeds{{1e9, 1e9, 1e9, 1e9}, 1e6}));

constexpr double kFast = 1e9, kSlow = 2e6;  // bytes a second: a drive, and a network mount at its worst

// A fixed list of reads in ten bursts, as of ten tokens: what the slow drive begins at once is all that it should
// bring.
TEST(ReadSources, ADriveThatIsSlowerThanBelievedBringsWhatItBeganAndNoMore) {
  for (const int together : {1, 4, 16}) {
    Drives drives({kFast, kSlow}, kFast);
    double seconds = 0;
    for (int burst = 0; burst < 10; ++burst) seconds += drives.read(40, 4 * kMiB, together);
    std::printf("400 reads of 4 MiB, %d at a time: %.1f s, %.2f MiB from the slow drive\n", together, seconds,
                drives.bytes_of(1) / kMiB);
    EXPECT_LE(drives.bytes_of(1), 17.0 * kMiB) << together;
  }
}

TEST(ReadSources, ADriveThatBecomesSlowIsLeftAtOnceAndFoundAgain) {
  Drives drives({kFast, kFast}, kFast);
  drives.read(400, 4 * kMiB, 16);
  const double even = drives.bytes_of(1);
  EXPECT_NEAR(even / (400 * 4 * kMiB), 0.5, 0.04);
  drives.becomes(1, kSlow);
  double seconds = drives.read(400, 4 * kMiB, 16);
  std::printf("400 reads when it became slow: %.1f s, %.2f MiB from it\n", seconds, (drives.bytes_of(1) - even) / kMiB);
  EXPECT_LE(drives.bytes_of(1) - even, 33.0 * kMiB);  // what was under way, and what was begun then
  const double slow = drives.bytes_of(1);
  drives.becomes(1, kFast);
  seconds = drives.read(6000, 4 * kMiB, 16);
  std::printf("6000 reads when it became fast: %.1f s, %.2f MiB from it\n", seconds,
              (drives.bytes_of(1) - slow) / kMiB);
  EXPECT_GT(drives.bytes_of(1) - slow, 0.3 * 6000 * 4 * kMiB);
}

// Trials take a percent of a slow drive's time at most, of which nobody has to wait for more than one.
TEST(ReadSources, ASlowDriveIsTriedNowAndThen) {
  constexpr std::uint64_t kExpert = 17'547'264;
  Drives drives({kFast, kSlow}, kFast);
  drives.read(100, kExpert, 1);
  const double before = drives.bytes_of(1);
  const double seconds = drives.read(2500, kExpert, 1), brought = drives.bytes_of(1) - before;
  EXPECT_GE(brought, 3 * ReadSources::kTrialBytes);
  EXPECT_LE(brought, 0.011 * seconds * kSlow);
  EXPECT_LT(seconds, 1.02 * 2500 * kExpert / kFast);
}

// What is needed first is there first, though a slow drive could help with the whole of it.
TEST(ReadSources, ASlowDriveTakesNothingThatIsNeededSoon) {
  Drives drives({kFast, 2e7}, kFast);
  drives.read(200, 4 * kMiB, 16);  // what is believed comes to be known
  const double before = drives.bytes_of(1);
  const std::vector<double> landed = drives.read_ahead(300, 4 * kMiB);
  EXPECT_GT(drives.bytes_of(1) - before, 3.0 * kMiB);  // it helps
  double latest = 0;
  for (std::size_t request = 0; request < landed.size(); ++request)
    latest = std::max(latest, landed[request] - static_cast<double>(4 * kMiB * (request + 1)) / kFast);
  std::printf("at most %.1f ms later than from the fast drive alone\n", 1e3 * latest);
  EXPECT_LT(latest, 0.01);
}

// Two directories with the same files, of which the second may misbehave.
TEST(ReadSources, TellTheRateOfLittleToo) {
  test::MemoryFiles files;
  files.add(test::random_bytes(64, 1));
  ReadSources sources({{&files, 0, "one"}, {&files, 0, "other"}});
  const ReadSources::Clock::time_point start{};
  sources.begin(0, 3000, start);
  sources.end(0, 3000, true, start + std::chrono::seconds(2));
  sources.begin(0, 1000, start + std::chrono::seconds(5));  // nothing was read for three seconds
  sources.end(0, 1000, true, start + std::chrono::seconds(7));
  EXPECT_NEAR(sources.stats()[0].bytes_per_second, 500, 5);  // what was seconds ago counts for little
  EXPECT_EQ(sources.stats()[1].bytes_per_second, 0);
}

class Mirrored : public test::OverEngines {
 protected:
  static constexpr std::uint64_t kPages = 3000, kSingle = 120;  // 12 MB; pages that are read one by one
  void open(test::FaultPlan plan, double mirror_rate = 1e9) {
    auto copy = std::make_unique<test::MemoryFiles>(true);
    bytes_ = test::random_bytes(kPages * kDiskPage, 5);
    original_.add(bytes_);
    // Reads take a moment, as of a drive: each source gets to its share.
    plan.longest_delay = std::chrono::microseconds(50);
    original_.set_faults({.longest_delay = plan.longest_delay});
    copy->add(bytes_);
    copy_ = copy.get();
    mirror_ = std::make_unique<test::FaultyFiles>(std::move(copy), plan);
    sources_ = std::make_unique<ReadSources>(
        std::vector<ReadSource>{{&original_, 1e9, "original"}, {mirror_.get(), mirror_rate, "mirror"}},
        [this](const std::string& told) { told_.push_back(told); });
  }
  // Some pages one by one, then all of the file at once; every byte must be right.
  void expect_right(ReadQueue& queue) {
    Landings landings;
    for (std::uint64_t page = 0; page < kSingle; ++page) {
      const Extent one{0, page * kDiskPage, kDiskPage, 0};
      queue.submit(page, {&one, 1}, memory_.slice(page * kDiskPage, kDiskPage), Urgency::next, landings);
    }
    for (std::uint64_t page = 0; page < kSingle; ++page) EXPECT_TRUE(landings.wait().status);
    EXPECT_EQ(0, std::memcmp(memory_.data(), bytes_.data(), kSingle * kDiskPage));
    const Extent all{0, 0, bytes_.size(), 0};
    queue.submit(0, {&all, 1}, memory_.slice(0, bytes_.size()), Urgency::demand, landings);
    expect_landed(landings);
  }
  void expect_landed(Landings& landings) {
    const Landed landed = landings.wait();
    EXPECT_TRUE(landed.status) << landed.status.error().what;
    EXPECT_EQ(0, std::memcmp(memory_.data(), bytes_.data(), bytes_.size()));
    std::memset(memory_.data(), 0, memory_.size());
  }

  std::vector<std::byte> bytes_;
  test::MemoryFiles original_{true};
  test::MemoryFiles* copy_ = nullptr;
  std::unique_ptr<test::FaultyFiles> mirror_;
  std::unique_ptr<ReadSources> sources_;
  std::vector<std::string> told_;
  PageArena memory_{kPages * kDiskPage};
};
SLUICE_OVER_ENGINES(Mirrored);

TEST_P(Mirrored, BothBringTheSameBytes) {
  open({});
  expect_right(*test::make_queue(GetParam(), *sources_, 3));
  const std::vector<SourceStats> stats = sources_->stats();
  EXPECT_EQ(stats[0].bytes + stats[1].bytes, bytes_.size() + kSingle * kDiskPage);
  EXPECT_GT(stats[0].bytes, 0u);
  EXPECT_GT(stats[1].bytes, 0u);
  EXPECT_TRUE(told_.empty());
}

TEST_P(Mirrored, OneThatFailsInTheMiddleIsTakenOut) {
  open({.fail_from = 10, .fail_count = std::numeric_limits<int>::max()});
  expect_right(*test::make_queue(GetParam(), *sources_, 3));
  const std::vector<SourceStats> stats = sources_->stats();
  EXPECT_TRUE(stats[1].out);
  EXPECT_FALSE(stats[0].out);
  EXPECT_GE(stats[1].failures, ReadSources::kMostFailures);
  EXPECT_LE(mirror_->failed_reads(), 3u + ReadSources::kMostFailures);  // those under way with the last one
  EXPECT_EQ(stats[0].bytes + stats[1].bytes, bytes_.size() + kSingle * kDiskPage);
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_NE(told_[0].find("mirror"), std::string::npos);
  EXPECT_NE(told_[0].find("planted"), std::string::npos);
}

TEST_P(Mirrored, OneThatComesShortIsTakenOut) {
  open({.short_reads = 0.5});
  expect_right(*test::make_queue(GetParam(), *sources_, 3));
  EXPECT_TRUE(sources_->stats()[1].out);
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_NE(told_[0].find("short"), std::string::npos);
}

TEST_P(Mirrored, AFailureNowAndThenIsReadElsewhere) {
  open({.fail_from = 5, .fail_count = 2});
  expect_right(*test::make_queue(GetParam(), *sources_, 3));
  EXPECT_EQ(sources_->stats()[1].failures, 2);
  EXPECT_FALSE(sources_->stats()[1].out);
  EXPECT_TRUE(told_.empty());
}

TEST_P(Mirrored, WhereTheOriginalFailsTheReadFails) {
  open({});
  original_.set_faults({.failing_reads = 1});
  const auto queue = test::make_queue(GetParam(), *sources_, 2);
  Landings landings;
  const Extent all{0, 0, bytes_.size(), 0};
  queue->submit(0, {&all, 1}, memory_.slice(0, bytes_.size()), Urgency::demand, landings);
  const Landed landed = landings.wait();
  ASSERT_FALSE(landed.status);
  EXPECT_EQ(landed.status.error().kind, ErrorKind::io);
}

// Compares with the bytes that should be there.
class KnownBytes final : public ReadCheck {
 public:
  explicit KnownBytes(const std::vector<std::byte>& bytes) : bytes_(bytes) {}
  bool due(std::span<const Extent>) const override { return false; }  // everything was checked once
  Result<> check(std::span<const Extent> extents, const std::byte* slot, const Files& files,
                 std::span<const SourcePiece> unproven) override {
    if (unproven.empty()) return {};
    ++checks;
    for (const Extent& extent : extents)
      if (std::memcmp(slot + extent.slot_offset, bytes_.data() + extent.offset, extent.bytes) != 0)
        return fail(ErrorKind::corrupt, files.path(extent.file) + " does not match");
    return {};
  }
  int checks = 0;

 private:
  const std::vector<std::byte>& bytes_;
};

// The original brought all pages before, the mirror brings some of them later: what it brings first is checked.
TEST_P(Mirrored, OneThatHoldsOtherBytesChangesNone) {
  open({}, 1);  // slow, it is believed: the original is read
  sources_->keep_proofs();
  auto check = std::make_unique<KnownBytes>(bytes_);
  KnownBytes& counted = *check;
  const auto queue =
      must(make_checked_queue(test::make_queue(GetParam(), *sources_, 2), std::move(check), sources_.get()));
  expect_right(*queue);
  const std::uint64_t page = 1234;
  copy_->bytes(0)[page * kDiskPage + 2077] ^= std::byte{1};
  sources_->begin(0, std::uint64_t{1} << 50, {});  // the original is busy: the mirror is read now
  Landings landings;
  for (const std::uint64_t place :
       {0u, 50u, 2000u}) {  // the same page three times: what was right of it proves no more
    const Extent part{0, page * kDiskPage + place, 100, place};
    queue->submit(1, {&part, 1}, memory_.slice(0, kDiskPage), Urgency::demand, landings);
    const Landed landed = landings.wait();
    ASSERT_TRUE(landed.status) << landed.status.error().what;
    ASSERT_EQ(0, std::memcmp(memory_.data() + place, bytes_.data() + page * kDiskPage + place, 100));
    EXPECT_EQ(sources_->stats()[1].out, place == 2000);
  }
  EXPECT_TRUE(sources_->stats()[1].out);
  EXPECT_FALSE(sources_->stats()[0].out);
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_NE(told_[0].find("not what the checkpoint holds: " + copy_->path(0) + ": bytes "), std::string::npos);
  // What was brought and found right before is not checked again.
  const int before = counted.checks;
  const Extent all{0, 0, bytes_.size(), 0};
  for (int round = 0; round < 2; ++round) {
    queue->submit(0, {&all, 1}, memory_.slice(0, bytes_.size()), Urgency::demand, landings);
    expect_landed(landings);
  }
  EXPECT_LE(counted.checks, before + 1);
}

}  // namespace
}  // namespace sluice
