// See trace_report.h.
#include "residency/trace_report.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace sluice {

namespace {

using Recall = TraceReport::Recall;

bool is_among(int expert, std::span<const int> names, std::size_t first) {
  const std::span<const int> these = names.first(std::min(first, names.size()));
  return std::ranges::find(these, expert) != these.end();
}

// `before`: the line of the layer before this one, if it was decoded too, or null.
Recall recall_of(const TraceLine& line, std::span<const int> named, const TraceLine* before) {
  Recall recall{.requests = line.uses.size()};
  for (const ExpertUse& use : line.uses) {
    recall.named += is_among(use.expert, named, line.uses.size()) ? 1 : 0;
    recall.named_by_twice += is_among(use.expert, named, 2 * line.uses.size()) ? 1 : 0;
    if (before == nullptr) continue;
    ++recall.behind_another;
    recall.repeated += std::ranges::count(before->uses, use.expert, &ExpertUse::expert) > 0 ? 1 : 0;
  }
  return recall;
}

void add(const Recall& more, Recall& to) {
  to.requests += more.requests, to.named += more.named, to.named_by_twice += more.named_by_twice;
  to.behind_another += more.behind_another, to.repeated += more.repeated;
}

void compare_foreseen(const Trace& trace, TraceReport& report) {
  for (TraceReport::Foreseen& foreseen : report.foreseen) foreseen.layers.resize(report.layers.size());
  std::vector<const TraceLine*> before(report.layers.size(), nullptr);
  for (const TraceLine& line : trace.lines) {
    const auto layer = static_cast<std::size_t>(line.layer);
    for (std::size_t when = 0; line.decode && when < kForesights; ++when) {
      if (line.foreseen[when].empty()) continue;
      const Recall recall = recall_of(line, line.foreseen[when], before[layer]);
      add(recall, report.foreseen[when].all);
      add(recall, report.foreseen[when].layers[layer]);
    }
    before[layer] = line.decode ? &line : nullptr;
  }
}

}  // namespace

TraceReport report_on(const Trace& trace) {
  TraceReport report;
  for (const int lines : {1, 2, 4, 8, 16, 32}) report.reuse.push_back({lines, 0});
  report.layers.resize(static_cast<std::size_t>(trace.layers));
  compare_foreseen(trace, report);
  const std::size_t pairs = static_cast<std::size_t>(trace.layers) * static_cast<std::size_t>(trace.experts);
  std::vector<std::uint64_t> uses(pairs, 0), last_line(pairs, 0);  // last_line: of its layer, from 1; 0: never
  std::vector<std::uint64_t> lines(static_cast<std::size_t>(trace.layers), 0), decode_lines(lines);
  for (const TraceLine& line : trace.lines) {
    const auto layer = static_cast<std::size_t>(line.layer);
    const std::uint64_t now = ++lines[layer];
    decode_lines[layer] += line.decode ? 1 : 0;
    for (const ExpertUse& use : line.uses) {
      const std::size_t pair = index_of({line.layer, use.expert}, trace.experts);
      const std::uint64_t before = std::exchange(last_line[pair], now);
      ++uses[pair];
      ++report.requests;
      if (!line.decode) continue;
      ++report.decode_requests;
      ++report.layers[layer].requests;
      if (before == 0) continue;
      ++report.seen_before;
      report.layers[layer].repeated += now - before == 1 ? 1 : 0;
      for (TraceReport::Reuse& reuse : report.reuse)
        reuse.requests += now - before <= static_cast<std::uint64_t>(reuse.lines) ? 1 : 0;
    }
  }
  report.decode_tokens = *std::ranges::max_element(decode_lines);
  for (std::size_t pair = 0; pair < pairs; ++pair)
    if (uses[pair] > 0)
      report.by_use.push_back({{static_cast<int>(pair / static_cast<std::size_t>(trace.experts)),
                                static_cast<int>(pair % static_cast<std::size_t>(trace.experts))},
                               uses[pair]});
  report.distinct = report.by_use.size();
  std::ranges::stable_sort(report.by_use, std::ranges::greater{}, [](const HotExpert& hot) { return hot.uses; });
  return report;
}

double TraceReport::share_of_hottest(double share) const {
  const auto count = static_cast<std::size_t>(std::ceil(share * static_cast<double>(by_use.size())));
  std::uint64_t taken = 0;
  for (std::size_t rank = 0; rank < std::min(count, by_use.size()); ++rank) taken += by_use[rank].uses;
  return requests == 0 ? 0 : static_cast<double>(taken) / static_cast<double>(requests);
}

}  // namespace sluice
