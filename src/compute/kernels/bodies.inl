// A kernel unit, whatever its instruction set: all bodies and the table of them, the one symbol that leaves the unit.
//
// A unit is its lanes_*.h, the names SLUICE_ISA and SLUICE_TABLE, and this file. Everything but the table has internal
// linkage and no header with function bodies of its own is included: the linker may keep any one copy of a shared
// inline function, and one made for AVX-512 would then run everywhere. The ctest structure.kernel_symbols checks it.

#include "compute/kernels/exact_constants.h"
#include "compute/kernels/table.h"

#define SLUICE_TEXT_OF(name) #name
#define SLUICE_TEXT(name) SLUICE_TEXT_OF(name)
#ifdef __clang__
#define SLUICE_UNROLL _Pragma("clang loop unroll(enable)")
#else
#define SLUICE_UNROLL _Pragma("GCC unroll 32")
#endif

// The compiler forgets what it knows about a variable.
#define SLUICE_OPAQUE(variable) asm("" : "+r"(variable))

#include "compute/kernels/elementwise.inl"
#include "compute/kernels/matmul.inl"
// These use elementwise.inl.
#include "compute/kernels/attention.inl"
#include "compute/kernels/probe.inl"
#include "compute/kernels/recurrence.inl"

namespace sluice {
using namespace SLUICE_ISA;
const KernelTable SLUICE_TABLE = {
    SLUICE_TEXT(SLUICE_ISA),
    panel_rows,
    pack,
    {matmul<F32>, matmul<Bf16>, matmul<Mxfp4>},  // FormatId: f32, bf16, mxfp4
    {streams<F32>, streams<Bf16>, streams<Mxfp4>},
    {matmul_transposed<F32>, matmul_transposed<Bf16>, matmul_transposed<Mxfp4>},
    rms_norm,
    layer_norm,
    l2_norm,
    add_to,
    sigmoid_of,
    gate_sigmoid,
    situ,
    swiglu,
    clamp,
    softmax,
    rope,
    weighted_sum,
    attention_residual,
    kda_decay,
    kda,
    short_conv,
    attention,
    index_scores,
    read_probe,
    fma_probe,
    2 * kProbeChains* kPieceLanes,
};
}  // namespace sluice
