// See read_schedule.h.
#include "io/read_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/seconds.h"

namespace sluice {

namespace {

constexpr std::uint64_t kLargestPiece = std::uint64_t{4} << 20;  // pieces of 2 to 4 MiB saturate an NVMe drive
constexpr int kFutileReads = 100;  // reads in a row that brought nothing usable before a file is given up

bool overlap(const Window& one, const Window& other) {
  return one.to < other.to + other.bytes() && other.to < one.to + one.bytes();
}

// Length of the next piece of a window: equal parts of at most kLargestPiece, on pages.
std::uint64_t next_part(const Window& rest) {
  const std::uint64_t bytes = rest.bytes();
  const std::uint64_t parts = (bytes + kLargestPiece - 1) / kLargestPiece;
  return parts <= 1 ? bytes : page_ceil((bytes + parts - 1) / parts);
}

// Cuts the next piece off a request.
Window cut(ReadRequest& request, std::uint64_t most_bytes) {
  Window& rest = request.windows[request.window];
  const std::uint64_t part = std::min(next_part(rest), most_bytes);
  Window piece = rest;
  piece.end = rest.begin + part;
  piece.wanted_begin = std::max(rest.wanted_begin, piece.begin);
  piece.wanted_end = std::min(rest.wanted_end, piece.end);
  rest.begin += part;
  rest.to += part;
  if (rest.begin >= rest.wanted_end) ++request.window;
  return piece;
}

}  // namespace

Result<bool> WindowReading::got(std::size_t bytes) {
  const bool aligned = files_.aligned_only(window_.file);
  const std::uint64_t reached = at_ + bytes;
  if (reached >= window_.wanted_end) return true;
  const std::uint64_t next = aligned ? page_floor(reached) : reached;  // a short direct read goes on from a page
  futile_ = next > at_ ? 0 : futile_ + 1;
  if (futile_ > 0 && reached >= files_.size(window_.file))
    return fail(ErrorKind::corrupt,
                fmt::format("{}: ends at byte {}, but bytes up to {} are needed", files_.path(window_.file), reached,
                            window_.wanted_end),
                "the file was cut short: fetch it again");
  if (futile_ == kFutileReads)
    return fail(ErrorKind::io, fmt::format("{}: reading at offset {} brings no data", files_.path(window_.file), at_),
                "check the disk, then try again");
  at_ = next;
  return false;
}

tl::unexpected<Error> came_short(const Files& files, const Window& window) {
  return fail(ErrorKind::io, fmt::format("{}: a read of {} bytes at offset {} came short", files.path(window.file),
                                         window.bytes(), window.begin));
}

std::uint64_t ReadRequest::left() const {
  std::uint64_t bytes = 0;
  for (std::size_t rest = window; rest < windows.size(); ++rest) bytes += windows[rest].bytes();
  return bytes;
}

Landed ReadRequest::landed() {
  Landed result{tag, {}, std::move(unproven), odd};
  if (error) result.status = tl::unexpected<Error>(std::move(*error));
  return result;
}

auto ReadSchedule::Line::find(std::uint64_t tag, const Landings& landings) -> Place {
  return std::ranges::find_if(requests, [&](const std::shared_ptr<ReadRequest>& request) {
    return request->tag == tag && request->landings == &landings;
  });
}

// The window of an extent: whole pages where one of the sources wants that, else exactly the extent.
Window ReadSchedule::widen(const Extent& extent, std::span<std::byte> slot) const {
  const std::uint64_t extent_end = extent.offset + extent.bytes;
  Window window{extent.file, extent.offset, extent_end, extent.offset, extent_end, nullptr};
  bool aligned = false;
  for (int source = 0; source < (many_ ? sources_.count() : 1); ++source)
    aligned |= sources_.files(source).aligned_only(extent.file);
  if (aligned) {
    window.begin = page_floor(window.begin);
    window.end = page_ceil(window.end);
    SLUICE_CHECK(extent.slot_offset % kDiskPage == extent.offset % kDiskPage);
  }
  const std::uint64_t before = extent.offset - window.begin;
  SLUICE_CHECK(extent.slot_offset >= before);
  const std::uint64_t begin = extent.slot_offset - before;
  SLUICE_CHECK(begin <= slot.size() && window.bytes() <= slot.size() - begin);
  window.to = slot.data() + begin;
  return window;
}

std::shared_ptr<ReadRequest> ReadSchedule::request(std::uint64_t tag, std::span<const Extent> extents,
                                                   std::span<std::byte> slot, Landings& landings) const {
  auto request = std::make_shared<ReadRequest>();
  request->tag = tag;
  request->landings = &landings;
  for (const Extent& extent : extents) {
    if (extent.bytes == 0) continue;
    request->windows.push_back(widen(extent, slot));
    for (std::size_t other = 0; other + 1 < request->windows.size(); ++other)
      SLUICE_CHECK(!overlap(request->windows[other], request->windows.back()));
  }
  return request->exhausted() ? nullptr : request;
}

void ReadSchedule::add(std::shared_ptr<ReadRequest> request, Urgency urgency, std::span<const Extent> extents) {
  for (const Extent& extent : extents) stats_.bytes += extent.bytes;
  ++stats_.requests;
  Line& line = urgency == Urgency::demand ? demand_ : urgency == Urgency::next ? next_ : idle_;
  line.left += request->left();
  line.requests.push_back(std::move(request));
}

// A slow source must not take what is needed next: it looks down the line, to where the others would be as late.
auto ReadSchedule::place_for(int source, Line& line, std::uint64_t before, Clock::time_point now) const -> Line::Place {
  const auto next = [](const ReadRequest& request) { return next_part(request.windows[request.window]); };
  const auto first = line.requests.begin();
  if (!many_ || sources_.takes(source, next(**first), before + (*first)->left(), now)) return first;
  const ReadSources::Reach reach = sources_.reach(source, now);
  if (!reach.takes(1, before + line.left)) return line.requests.end();
  constexpr int kMostLookedAt = 256;
  int looked_at = 0;
  for (auto at = first; at != line.requests.end() && looked_at < kMostLookedAt; ++at, ++looked_at) {
    if ((*at)->exhausted()) continue;
    before += (*at)->left();
    if (reach.takes(next(**at), before)) return at;
  }
  return line.requests.end();
}

ReadPiece ReadSchedule::begin(int source, Line& line, Line::Place at, std::uint64_t most_bytes, Clock::time_point now) {
  std::shared_ptr<ReadRequest> request = *at;
  line.left -= request->left();
  const Window window = cut(*request, most_bytes);
  ++request->in_flight;
  request->odd |= most_bytes < kLargestPiece;
  if (request->exhausted())
    line.requests.erase(at);
  else
    line.left += request->left();
  if (active_++ == 0) busy_since_ = now;
  sources_.begin(source, window.bytes(), now);
  return ReadPiece{std::move(request), window, source};
}

std::optional<ReadPiece> ReadSchedule::take(int source, Clock::time_point now) {
  if (!many_ && source != 0) return std::nullopt;
  std::uint64_t before = 0;
  Line* last = nullptr;
  for (Line* line : {&demand_, &next_, &idle_}) {
    while (!line->requests.empty() && line->requests.front()->exhausted()) line->requests.pop_front();
    while (!line->requests.empty() && line->requests.back()->exhausted()) line->requests.pop_back();
    if (line->requests.empty()) continue;
    if (const auto at = place_for(source, *line, before, now); at != line->requests.end())
      return begin(source, *line, at, kLargestPiece, now);
    before += line->left;
    last = line;
  }
  // A trial comes late: it is made where that hurts least.
  if (last == nullptr || !sources_.trial_due(source, now)) return std::nullopt;
  return begin(source, *last, std::prev(last->requests.end()), ReadSources::kTrialBytes, now);
}

void ReadSchedule::fall_back(ReadPiece& piece, const Error& why, Clock::time_point now) {
  sources_.end(piece.source, piece.window.bytes(), false, now);
  sources_.failed(piece.source, why);
  piece.source = 0;
  sources_.begin(0, piece.window.bytes(), now);
}

std::shared_ptr<ReadRequest> ReadSchedule::finish(ReadPiece piece, Result<> status, Clock::time_point now) {
  ReadRequest& request = *piece.request;
  sources_.end(piece.source, piece.window.bytes(), status.has_value(), now);
  if (--active_ == 0) stats_.busy_seconds += in_seconds(now - busy_since_);
  if (!status) {
    if (!request.error) request.error = std::move(status.error());
    // The rest need not be read. A line that has it counts without it from now on.
    for (Line* line : {&demand_, &next_, &idle_})
      if (std::ranges::find(line->requests, piece.request) != line->requests.end()) line->left -= request.left();
    request.window = request.windows.size();
  } else if (sources_.keeps_proofs() && many_) {
    // What was wanted, not the pages that it lies on: others may want the rest of them.
    const SourcePiece read{piece.source, piece.window.file, piece.window.wanted_begin, piece.window.wanted_end};
    if (!sources_.proven(read)) request.unproven.push_back(read);
  }
  if (--request.in_flight == 0 && request.exhausted()) return std::move(piece.request);
  return nullptr;
}

std::shared_ptr<ReadRequest> ReadSchedule::withdraw(std::uint64_t tag, const Landings& landings) {
  for (Line* line : {&demand_, &next_, &idle_}) {
    const auto found = line->find(tag, landings);
    if (found == line->requests.end()) continue;
    std::shared_ptr<ReadRequest> request = *found;
    line->requests.erase(found);
    if (request->exhausted()) return nullptr;  // failed: the last of its pieces reports
    line->left -= request->left();
    request->error = Error{ErrorKind::cancelled, "the read was taken back"};
    request->window = request->windows.size();
    return request->in_flight == 0 ? request : nullptr;
  }
  return nullptr;
}

void ReadSchedule::hurry(std::uint64_t tag, const Landings& landings) {
  for (Line* line : {&next_, &idle_}) {
    const auto found = line->find(tag, landings);
    if (found == line->requests.end()) continue;
    const std::uint64_t left = (*found)->left();
    line->left -= left;
    demand_.left += left;
    demand_.requests.push_back(std::move(*found));
    line->requests.erase(found);
    return;
  }
}

ReadStats ReadSchedule::stats(Clock::time_point now) const {
  ReadStats stats = stats_;
  if (active_ > 0) stats.busy_seconds += in_seconds(now - busy_since_);
  return stats;
}

}  // namespace sluice
