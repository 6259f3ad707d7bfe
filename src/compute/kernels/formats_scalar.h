// How stored weights become lanes without vector instructions: value by value. See formats_portable.inl.
#pragma once

#include "compute/kernels/lanes_scalar.h"
// Uses the lanes.
#include "compute/kernels/formats_portable.inl"

namespace sluice::scalar {
namespace {

using F32 = Portable<F32Cells>;
using Bf16 = Portable<Bf16Cells>;
using Mxfp4 = Portable<Mxfp4Cells>;
using F16 = Portable<F16Cells>;
using Fp8 = Portable<Fp8Cells>;
using Fp8E8m0 = Portable<Fp8E8m0Cells>;
using Int8 = Portable<Int8Cells>;
template <int group_blocks>
using Int4 = Portable<Int4Cells<group_blocks>>;

}  // namespace
}  // namespace sluice::scalar
