// See profile.h. The format is that of "Trace Event Format" (Google): complete events, times in microseconds.
#include "engine/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "residency/store_around.h"

namespace sluice {

namespace {

using std::chrono::microseconds;

constexpr microseconds kLeastWait{20};  // shorter ones are the call itself

class WatchedFiles final : public Files {
 public:
  WatchedFiles(Profile& profile, std::unique_ptr<Files> files) : profile_(profile), files_(std::move(files)) {
    for (int file = 0; file < files_->count(); ++file)
      names_.push_back(std::filesystem::path(files_->path(file)).filename().string());
  }
  int count() const override { return files_->count(); }
  const std::string& path(int file) const override { return files_->path(file); }
  std::uint64_t size(int file) const override { return files_->size(file); }
  bool aligned_only(int file) const override { return files_->aligned_only(file); }
  Result<std::size_t> read_some(int file, std::uint64_t offset, std::span<std::byte> to) const override {
    const Profile::Clock::time_point begin = Profile::Clock::now();
    Result<std::size_t> got = files_->read_some(file, offset, to);
    profile_.add("read", names_[static_cast<std::size_t>(file)], begin, got.value_or(0));
    return got;
  }

 private:
  Profile& profile_;
  std::unique_ptr<Files> files_;
  std::vector<std::string> names_;
};

// The time in which a step is leased is the time of its computation, waits for experts within.
class WatchedTrunk final : public TrunkStore, public LeaseHome {
 public:
  WatchedTrunk(Profile& profile, std::unique_ptr<TrunkStore> trunk, const std::vector<BlockSpec>& steps)
      : profile_(profile), trunk_(std::move(trunk)), steps_(steps) {}

  Result<Lease> acquire(int step) override {
    const Profile::Clock::time_point begin = Profile::Clock::now();
    TRY_TAKE(Lease lease, trunk_->acquire(step));
    if (Profile::Clock::now() - begin >= kLeastWait) profile_.add("wait", "wait for " + label(step), begin);
    leased_at_ = Profile::Clock::now();  // now that the wait has ended: spans that cross are dropped by who draws them
    leased_ = std::move(lease);
    return leased_->lent_by(this, step);
  }
  std::optional<Lease> peek(int step) override { return trunk_->peek(step); }  // a glance: no span of its own
  void release(int step) override {
    leased_.reset();
    profile_.add("step", label(step), leased_at_);
  }
  bool tend() override { return trunk_->tend(); }
  TrunkStats stats() const override { return trunk_->stats(); }

 private:
  const std::string& label(int step) const { return steps_[static_cast<std::size_t>(step)].label; }

  Profile& profile_;
  std::unique_ptr<TrunkStore> trunk_;
  const std::vector<BlockSpec>& steps_;
  std::optional<Lease> leased_;
  Profile::Clock::time_point leased_at_;
};

class WatchedFetch final : public Fetch {
 public:
  WatchedFetch(Profile& profile, std::unique_ptr<Fetch> fetch, const ExpertTable& table, int layer)
      : profile_(profile), fetch_(std::move(fetch)), table_(table), layer_(layer) {}
  Result<std::optional<ReadyExpert>> next() override {
    const Profile::Clock::time_point begin = Profile::Clock::now();
    Result<std::optional<ReadyExpert>> ready = fetch_->next();
    if (ready && *ready && Profile::Clock::now() - begin >= kLeastWait)
      profile_.add("wait", "wait for " + table_.label(layer_, (*ready)->expert), begin);
    return ready;
  }

 private:
  Profile& profile_;
  std::unique_ptr<Fetch> fetch_;
  const ExpertTable& table_;
  int layer_;
};

class WatchedExperts final : public StoreAround {
 public:
  WatchedExperts(Profile& profile, std::unique_ptr<ExpertStore> experts, const ExpertTable& table)
      : StoreAround(std::move(experts)), profile_(profile), table_(table) {}
  std::unique_ptr<Fetch> fetch(int layer, std::span<const ExpertUse> uses) override {
    return std::make_unique<WatchedFetch>(profile_, StoreAround::fetch(layer, uses), table_, layer);
  }

 private:
  Profile& profile_;
  const ExpertTable& table_;
};

}  // namespace

Profile::Profile(const std::string& path) : path_(path), file_(path, std::ios::trunc) {
  file_ << R"({"displayTimeUnit":"ms","traceEvents":[)"
        << "\n"
        << R"({"name":"process_name","ph":"M","pid":1,"tid":0,"args":{"name":"sluice"}})";
  track_of_caller();
}

Result<std::unique_ptr<Profile>> Profile::open(const std::string& path) {
  std::unique_ptr<Profile> profile(new Profile(path));
  profile->file_.flush();
  if (!profile->file_.good())
    return fail(ErrorKind::bad_input, fmt::format("--profile: cannot write {}", path),
                "check that the folder exists and has room");
  return profile;
}

// Whoever opens the profile runs the engine; the others read.
int Profile::track_of_caller() {
  const auto found = std::ranges::find(tracks_, std::this_thread::get_id());
  const auto track = static_cast<int>(found - tracks_.begin());
  if (found != tracks_.end()) return track;
  tracks_.push_back(std::this_thread::get_id());
  file_ << fmt::format(",\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":{},\"args\":{{\"name\":\"{}\"}}}}",
                       track, track == 0 ? "engine" : fmt::format("reader {}", track));
  return track;
}

void Profile::add(std::string_view category, std::string_view name, Clock::time_point begin, std::uint64_t bytes) {
  const auto in_us = [](Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); };
  const Clock::time_point end = Clock::now();
  const std::scoped_lock lock(mutex_);
  if (finished_) return;
  const int track = track_of_caller();
  file_ << fmt::format(",\n{{\"name\":{},\"cat\":\"{}\",\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f}",
                       nlohmann::json(name).dump(), category, track, in_us(begin - zero_), in_us(end - begin));
  if (bytes > 0) file_ << fmt::format(",\"args\":{{\"bytes\":{}}}", bytes);
  file_ << '}';
}

Result<> Profile::finish() {
  const std::scoped_lock lock(mutex_);
  finished_ = true;
  file_ << "\n]}\n";
  file_.flush();
  if (file_.good()) return {};
  return fail(ErrorKind::bad_input, fmt::format("--profile: cannot write {}", path_), "check that the disk has room");
}

std::unique_ptr<Files> Profile::watch(std::unique_ptr<Files> files) {
  return std::make_unique<WatchedFiles>(*this, std::move(files));
}

std::unique_ptr<TrunkStore> Profile::watch(std::unique_ptr<TrunkStore> trunk, const std::vector<BlockSpec>& steps) {
  return std::make_unique<WatchedTrunk>(*this, std::move(trunk), steps);
}

std::unique_ptr<ExpertStore> Profile::watch(std::unique_ptr<ExpertStore> experts, const ExpertTable& table) {
  return std::make_unique<WatchedExperts>(*this, std::move(experts), table);
}

}  // namespace sluice
