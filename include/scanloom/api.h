// The one macro of the public headers: marks what the shared library exports.
#pragma once

#if defined(SCANLOOM_STATIC)
#define SCANLOOM_API
#else
#define SCANLOOM_API __attribute__((visibility("default")))
#endif
