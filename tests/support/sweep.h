// How much of a sweep is tried: all of it, or one case of SLUICE_SWEEP_STRIDE where an emulator runs the tests.
#pragma once

#include <cstdlib>

namespace sluice::test {

// Odd, so that sweeps over powers of two of cases meet every remainder.
inline int sweep_stride() {
  const char* const told = std::getenv("SLUICE_SWEEP_STRIDE");
  const int stride = told != nullptr ? std::atoi(told) : 1;
  return stride > 1 ? stride | 1 : 1;
}

// Of so many random cases.
inline int cases(int all) { return (all + sweep_stride() - 1) / sweep_stride(); }

// Cases in order, of which every `stride`-th is tried, the first one among them.
class Sweep {
 public:
  bool tries_next() { return index_++ % stride_ == 0; }

 private:
  int index_ = 0;
  const int stride_ = sweep_stride();
};

}  // namespace sluice::test
