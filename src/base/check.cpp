// See check.h. The only place below the command line that may end the process.
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace sluice {

void check_failed(const char* fact, const char* file, int line) {
  std::fprintf(stderr, "sluice: this is a bug in sluice: %s does not hold (%s:%d)\n", fact, file, line);
  std::fflush(nullptr);
  std::_Exit(70);
}

}  // namespace sluice
