// Stops programs at a call that changes the disk: tests/support/shim/at_call.cpp is loaded into those that are started
// while this lives.
#pragma once

#include <string>

#include "support/run_program.h"

namespace sluice::test {

class AtCall {
 public:
  AtCall(int call, const char* what);  // `what`: see the shim
  ~AtCall();
  AtCall(const AtCall&) = delete;
  AtCall& operator=(const AtCall&) = delete;
};

// How many such calls a program told of that ran under AtCall(0, "count").
int calls_told(const Outcome& outcome);

}  // namespace sluice::test
