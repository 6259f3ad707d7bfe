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

// Functions and lambdas that must not be calls, or what they refer to lives in memory.
#define SLUICE_INLINE inline __attribute__((always_inline))
#define SLUICE_INLINED __attribute__((always_inline))

// The compiler forgets what it knows about a variable.
#define SLUICE_OPAQUE(variable) asm("" : "+r"(variable))

#include "compute/kernels/elementwise.inl"
#include "compute/kernels/matmul_passes.inl"
#include "compute/kernels/matmul_tiles.inl"
// These use passes and tiles.
#include "compute/kernels/matmul.inl"
#include "compute/kernels/matmul_fast.inl"
// These use elementwise.inl.
#include "compute/kernels/attention.inl"
#include "compute/kernels/choice.inl"
#include "compute/kernels/probe.inl"
#include "compute/kernels/recurrence.inl"
#include "compute/kernels/sampling.inl"
#include "compute/kernels/streams.inl"
#include "compute/kernels/unpack.inl"

// A template's instances in the order of FormatId.
#define SLUICE_FORMATS(kernel)                                                                                        \
  kernel<F32>, kernel<Bf16>, kernel<Mxfp4>, kernel<F16>, kernel<Fp8>, kernel<Fp8E8m0>, kernel<Int8>, kernel<Int4<0>>, \
      kernel<Int4<1>>, kernel<Int4<2>>, kernel<Int4<4>>

namespace sluice {
using namespace SLUICE_ISA;
const KernelTable SLUICE_TABLE = {
    SLUICE_TEXT(SLUICE_ISA),
    panel_rows,
    pack,
    {SLUICE_FORMATS(matmul)},
    {SLUICE_FORMATS(streams)},
    {SLUICE_FORMATS(matmul_transposed)},
    quantise,
    matmul_fast,
    streams_fast,
    rms_norm,
    inverse_rms,
    layer_norm,
    l2_norm,
    add_to,
    sigmoid_of,
    gate_sigmoid,
    situ,
    swiglu,
    clamped_swiglu,
    sqrt_softplus,
    clamp,
    softmax,
    rope,
    weighted_sum,
    attention_residual,
    stream_weights,
    mix_streams,
    pool,
    kda_decay,
    kda,
    short_conv,
    attention,
    index_scores,
    choose,
    exp_weights,
    unpack_bf16,
    read_probe,
    fma_probe,
    2 * kProbeChains* kPieceLanes,
};
}  // namespace sluice
