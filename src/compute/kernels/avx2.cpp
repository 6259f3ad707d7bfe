// The kernels of AVX2 with FMA.
#define SLUICE_ISA avx2
#define SLUICE_TABLE kAvx2Kernels
#include "compute/kernels/dots_avx2.h"
#include "compute/kernels/formats_avx2.h"
#include "compute/kernels/unpack_avx2.h"

#include "compute/kernels/bodies.inl"
