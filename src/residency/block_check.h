// What is checked of a block when it lands: the scales of its packed tensors.
//
// E8M0 bytes 253 to 255 and fp32 scales that are not finite cannot be in a sound checkpoint and would turn into
// infinities and NaN (docs/numerics.md). Scales are at most 1/5 of a tensor, mostly far less, so the check costs
// little; everything else is left to `verify`.
#pragma once

#include <cstddef>
#include <string>

#include "base/function_ref.h"
#include "base/result.h"
#include "checkpoint/block.h"
#include "io/files.h"

namespace sluice {

// Fails (corrupt) with the tensor, the file and the place in it. `name` is asked for a tensor's name only then.
Result<> check_scales(const BlockLayout& layout, const std::byte* slot, const Files& files,
                      FunctionRef<std::string(std::size_t tensor)> name);

}  // namespace sluice
