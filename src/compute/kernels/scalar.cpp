// The kernels without vector instructions: what every machine can run.
#define SLUICE_ISA scalar
#define SLUICE_TABLE kScalarKernels
#include "compute/kernels/dots_scalar.h"
#include "compute/kernels/formats_scalar.h"
#include "compute/kernels/unpack_scalar.h"

#include "compute/kernels/bodies.inl"
