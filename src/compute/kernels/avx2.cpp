// The kernels of the instruction set that lanes_avx2.h spells.
#include "compute/kernels/lanes_avx2.h"

#define SLUICE_ISA avx2
#define SLUICE_TABLE kAvx2Kernels
#include "compute/kernels/bodies.inl"
