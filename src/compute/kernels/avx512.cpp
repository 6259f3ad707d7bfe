// The kernels of the instruction set that lanes_avx512.h spells.
#include "compute/kernels/lanes_avx512.h"

#define SLUICE_ISA avx512
#define SLUICE_TABLE kAvx512Kernels
#include "compute/kernels/bodies.inl"
