// The kernels without vector instructions: what every machine can run.
#include "compute/kernels/lanes_scalar.h"

#define SLUICE_ISA scalar
#define SLUICE_TABLE kScalarKernels
#include "compute/kernels/bodies.inl"
