// This machine with its rates measured for one checkpoint: its disk, its memory, and the kernels on its formats.
//
// Takes about half a second. What cannot be measured stays 0, which a forecast leaves out.
#pragma once

#include <string>
#include <vector>

#include "engine/survey.h"
#include "io/disk_probe.h"
#include "residency/machine.h"

namespace sluice {

// A directory that weights are read from.
struct DirectorySpeed {
  std::string directory, file;  // that was read of it
  DiskSpeed disk;               // rate 0: it could not be measured
  bool same_drive = false;      // as the checkpoint's own
};

struct MeasuredMachine {
  Machine machine;                          // its disk is all drives of the directories together
  std::vector<DirectorySpeed> directories;  // the checkpoint's own first, then its mirrors; none without a checkpoint
};

// Fails if it is cancelled (`survey.options.cancel`).
Result<MeasuredMachine> measure_machine(const Survey& survey);

// What a probe of the directories reads: of the largest shard of each.
struct DirectoriesToProbe {
  std::vector<DirectorySpeed> directories;  // not measured yet
  std::uint64_t read_bytes = 0;             // of a read, at most; 0: the probe's own
};
// In reads as large as an expert's, if there are any.
DirectoriesToProbe directories_to_probe(const Survey& survey);
// In reads as large as most of the bytes of a run came in: a read of the trunk is a step, one of experts an expert.
DirectoriesToProbe directories_to_probe(const Survey& survey, std::uint64_t trunk_read, std::uint64_t experts_read);
// One after the other.
std::vector<DirectorySpeed> probe_directories(DirectoriesToProbe what, DiskProbe probe);
// All drives together: a second copy on the same drive brings nothing.
double bytes_per_second(const std::vector<DirectorySpeed>& directories);

}  // namespace sluice
