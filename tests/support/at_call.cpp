// See at_call.h.
#include "support/at_call.h"

#include <stdlib.h>

#include <filesystem>

namespace sluice::test {

AtCall::AtCall(int call, const char* what) {
  const std::filesystem::path shim = std::filesystem::path(SLUICE_BINARY_DIR) / "tests" / "libat_call.so";
  ::setenv("LD_PRELOAD", shim.c_str(), 1);
  ::setenv("SLUICE_TEST_AT", std::to_string(call).c_str(), 1);
  ::setenv("SLUICE_TEST_DO", what, 1);
}

AtCall::~AtCall() {
  for (const char* name : {"LD_PRELOAD", "SLUICE_TEST_AT", "SLUICE_TEST_DO"}) ::unsetenv(name);
}

int calls_told(const Outcome& outcome) {
  constexpr std::string_view kBefore = "calls: ";
  return std::stoi(outcome.err.substr(outcome.err.find(kBefore) + kBefore.size()));
}

}  // namespace sluice::test
