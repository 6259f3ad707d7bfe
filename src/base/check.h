// Checks of facts that only a fault of sluice itself can break.
//
// SLUICE_CHECK stays in every build: its failure would mean a wrong answer. SLUICE_DCHECK is for inner loops and exists
// in debug builds only. Neither may be reachable from input: bad input is an Error.
#pragma once

namespace sluice {
// Prints the broken fact and stops the program with exit code 70, the code of a bug.
[[noreturn]] void check_failed(const char* fact, const char* file, int line);
}  // namespace sluice

#define SLUICE_CHECK(fact)                               \
  do {                                                   \
    if (!(fact)) [[unlikely]]                            \
      ::sluice::check_failed(#fact, __FILE__, __LINE__); \
  } while (false)
#ifdef NDEBUG
#define SLUICE_DCHECK(fact) \
  do {                      \
  } while (false)
#else
#define SLUICE_DCHECK(fact) SLUICE_CHECK(fact)
#endif
