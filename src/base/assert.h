// SCANLOOM_ASSERT: guards against our own mistakes, never the user's; off in optimised builds.
#pragma once

#if defined(SCANLOOM_CHECKED)
#define SCANLOOM_ASSERT(condition)      \
  do {                                  \
    if (!(condition)) __builtin_trap(); \
  } while (false)
#else
#define SCANLOOM_ASSERT(condition) \
  do {                             \
    if (false) (void)(condition);  \
  } while (false)
#endif
