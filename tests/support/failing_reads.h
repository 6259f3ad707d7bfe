// Disturbs reads of programs that are started while this lives: tests/support/shim/failing_reads.cpp is loaded into
// them.
#pragma once

#include <string>

namespace sluice::test {

class FailingReads {
 public:
  // Of files in a directory, from a certain read on. `how`: see the shim.
  FailingReads(const std::string& directory, int from, const char* how);
  ~FailingReads();
  FailingReads(const FailingReads&) = delete;
  FailingReads& operator=(const FailingReads&) = delete;
};

}  // namespace sluice::test
