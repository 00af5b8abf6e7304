#if defined(__aarch64__)
#define HWY_BASELINE_TARGETS HWY_NEON
#include "kernels/simd/conv_winograd.inc"
#endif
