// Functions with fused multiply-add in code for the baseline; they may be called where has_fma().
#pragma once

/// They take in what they call (flatten): of templates for the baseline each multiply-add would be
/// a call of the C library.
#if defined(__x86_64__)
#define SCANLOOM_WITH_FMA __attribute__((target("fma"), flatten))
#else
#define SCANLOOM_WITH_FMA
#endif
