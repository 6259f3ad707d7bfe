// Whole small files: what flags name, a checkpoint's JSON, the kernel's tables.
#pragma once

#include <string>

#include "base/result.h"

namespace sluice {

// bad_input, naming the path, if it cannot be read: it is missing, not ours to read, or a folder.
Result<std::string> read_text_file(const std::string& path);

// Why a file that could not be opened cannot be read. What to do is `otherwise`, but where a permission is missing.
Error unreadable(const std::string& path, std::string otherwise = {}, ErrorKind kind = ErrorKind::bad_input);
// The same of a folder whose names cannot be listed; nothing if they can.
Result<> can_list(const std::string& folder);

}  // namespace sluice
