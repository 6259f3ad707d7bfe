// This machine with its rates measured for one checkpoint: its disk, its memory, and the kernels on its formats.
//
// Takes about half a second. What cannot be measured stays 0, which a forecast leaves out.
#pragma once

#include <string>

#include "engine/survey.h"
#include "residency/machine.h"

namespace sluice {

struct MeasuredMachine {
  Machine machine;
  std::string disk_file;     // that was read
  bool disk_direct = false;  // false: through the page cache, which may flatter
};

MeasuredMachine measure_machine(const Survey& survey);

}  // namespace sluice
