// Whole small files: what flags name, a checkpoint's JSON, the kernel's tables.
#pragma once

#include <string>

#include "base/result.h"

namespace sluice {

// bad_input, naming the path, if it cannot be read: it is missing, not ours to read, or a folder.
Result<std::string> read_text_file(const std::string& path);

}  // namespace sluice
