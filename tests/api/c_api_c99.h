/* What the C99 program of the tests offers to the C++ test that calls it. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs the model of running sums over `steps` rows of ones; 0 when `last` holds two numbers. */
int scanloom_c99_sums(const void* model, size_t size, int steps, float last[2]);

/* How many functions of the header the program refers to. */
int scanloom_c99_functions(void);

#ifdef __cplusplus
}
#endif
