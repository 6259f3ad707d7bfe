// Everything measured about one run, as one value: printed for people and written as JSON (fields: docs/cli.md).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/generate.h"

namespace sluice {

struct RunReport {
  Generation generation;
  std::vector<int> prompt_ids;
  std::string text, reasoning;
  double load_seconds = 0;
  std::uint64_t peak_rss_bytes = 0;
  EngineStats stats;
};

// What all experts take: "3.59 MiB on disk, 6.00 MiB in memory". The plan and the report of a run say it alike.
std::string experts_together(const Survey& survey);
// Bytes a second, while something was being read.
double disk_rate(const EngineStats& stats);

nlohmann::json to_json(const RunReport& report, const Engine& engine);
// A few lines: speed, where the time went, what was read, whether the budget held.
std::string to_text(const RunReport& report, const Engine& engine);
// What the disk gave while it was busy, beside what it gives when nothing else is to be done; both in bytes a second.
std::string ceiling_line(double reached, double ceiling);
// Before anything is read: where the weights will live and what that means.
std::string plan_line(const MemoryPlan& plan);

}  // namespace sluice
