// The kernels of AVX-512 with the byte permutations of VBMI and the dot products of VNNI (Ice Lake, Zen 4 and later).
#define SLUICE_ISA avx512vbmi
#define SLUICE_TABLE kAvx512VbmiKernels
#include "compute/kernels/dots_avx512.h"
#include "compute/kernels/fp8_avx512.h"
#include "compute/kernels/unpack_avx512.h"

#include "compute/kernels/bodies.inl"
