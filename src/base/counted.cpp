// See counted.h.
#include "base/counted.h"

#include <fmt/format.h>

#include "base/units.h"

namespace sluice {

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", format_count(count), noun, count == 1 ? "" : "s");
}

}  // namespace sluice
