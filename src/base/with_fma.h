// SCANLOOM_WITH_FMA: compiles a function of baseline code with fused multiply-add. Call it only if
// has_fma().
#pragma once

/// Flattened: without inlining, each multiply-add in a template compiled for the baseline would be
/// a call of the C library.
#if defined(__x86_64__)
#define SCANLOOM_WITH_FMA __attribute__((target("fma"), flatten))
#else
#define SCANLOOM_WITH_FMA
#endif
