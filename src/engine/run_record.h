// A note that a run leaves while it runs, for the case that the kernel ends it for want of memory: such a process
// cannot say why it ended, and the next one can.
//
// It lies beside the usage history (residency/usage.h), a file for each process:
// USAGE.run-PID-START. An orderly end removes it. The next run on the same checkpoint that finds the note of a process
// that is no more looks whether the kernel has killed since. A note may be wrong, old or lost: it says a sentence and
// decides nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "residency/kernel_kills.h"

namespace sluice {

class RunRecord {
 public:
  // Nothing where it cannot be written: that is no reason not to run.
  static std::unique_ptr<RunRecord> leave(const std::string& usage_path, std::uint64_t budget_bytes,
                                          std::uint64_t planned_bytes, const MemoryFolders& folders);
  ~RunRecord();  // removes it
  RunRecord(const RunRecord&) = delete;
  RunRecord& operator=(const RunRecord&) = delete;

 private:
  explicit RunRecord(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// A run that the kernel ended, by all that is known.
struct KilledRun {
  std::int64_t began = 0;  // seconds since 1970
  std::uint64_t budget_bytes = 0;
  std::uint64_t planned_bytes = 0;  // of it; less where everything fits
};

enum class Afterwards { forget, keep };  // notes that have been judged
// The latest such run among the notes beside `usage_path`. Notes of processes that live are left alone, and so are
// those that cannot be judged here (of another boot or another space of process ids) for thirty days.
std::optional<KilledRun> killed_run(const std::string& usage_path, const MemoryFolders& folders, Afterwards afterwards);

// What a user is told of it, and what to do: `least_bytes` is the least budget that runs. An Error as a sentence and a
// hint alone: nothing fails for it.
Error tell_of(const KilledRun& run, std::uint64_t least_bytes);

}  // namespace sluice
