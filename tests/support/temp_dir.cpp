// See temp_dir.h.
#include "support/temp_dir.h"

#include <cstdlib>
#include <system_error>

#include "base/check.h"

namespace sluice::test {

TempDir::TempDir() {
  std::string pattern = (std::filesystem::temp_directory_path() / "sluice-test-XXXXXX").string();
  SLUICE_CHECK(::mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace sluice::test
