// What the kernel offers for reading files, told by asking it: for people, who wonder why reading is as fast as it is.
#pragma once

#include <optional>
#include <string>

namespace sluice {

// Nothing if io_uring can be used by this process, else the kernel's reason ("Function not implemented").
std::optional<std::string> io_uring_refusal();

}  // namespace sluice
