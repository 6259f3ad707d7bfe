// The kernels of AVX-512 F, BW, DQ, VL.
#define SLUICE_ISA avx512
#define SLUICE_TABLE kAvx512Kernels
#include "compute/kernels/dots_avx512.h"
#include "compute/kernels/fp8_avx512.h"
#include "compute/kernels/unpack_avx512.h"

#include "compute/kernels/bodies.inl"
