// See failing_reads.h.
#include "support/failing_reads.h"

#include <stdlib.h>

#include <filesystem>

namespace sluice::test {

FailingReads::FailingReads(const std::string& directory, int from, const char* how) {
  const std::filesystem::path shim = std::filesystem::path(SLUICE_BINARY_DIR) / "tests" / "libfailing_reads.so";
  ::setenv("LD_PRELOAD", shim.c_str(), 1);
  ::setenv("SLUICE_TEST_FAILING", directory.c_str(), 1);
  ::setenv("SLUICE_TEST_FAILING_FROM", std::to_string(from).c_str(), 1);
  ::setenv("SLUICE_TEST_FAILING_HOW", how, 1);
}

FailingReads::~FailingReads() {
  for (const char* name : {"LD_PRELOAD", "SLUICE_TEST_FAILING", "SLUICE_TEST_FAILING_FROM", "SLUICE_TEST_FAILING_HOW"})
    ::unsetenv(name);
}

}  // namespace sluice::test
