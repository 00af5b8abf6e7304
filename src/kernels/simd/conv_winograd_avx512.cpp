#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_AVX3
#include "kernels/simd/conv_winograd.inc"
#endif
