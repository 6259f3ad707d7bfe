// Memory that simdjson was refused: the library tells of it by an error code like any other, where all else throws
// (base/out_of_memory.h). A file is not damaged because there is no memory to look at it.
#pragma once

#include <simdjson.h>

#include "base/out_of_memory.h"

namespace sluice {

// The code of a call that may allocate (load, iterate, parse). `use`: what for, as in refuse_memory().
inline simdjson::error_code or_throw_refusal(simdjson::error_code code, const char* use) {
  if (code == simdjson::MEMALLOC) refuse_memory(0, use);
  return code;
}

}  // namespace sluice
