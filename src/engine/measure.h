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

MeasuredMachine measure_machine(const Survey& survey);

// Of the largest shard of each, one after the other; read_bytes is that of an expert.
std::vector<DirectorySpeed> probe_directories(const Survey& survey, DiskProbe probe);

}  // namespace sluice
