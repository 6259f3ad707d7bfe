// The kernels of NEON, which every AArch64 processor has.
#define SLUICE_ISA neon
#define SLUICE_TABLE kNeonKernels
#include "compute/kernels/dots_neon.h"
#include "compute/kernels/formats_neon.h"
#include "compute/kernels/unpack_neon.h"

#include "compute/kernels/bodies.inl"
