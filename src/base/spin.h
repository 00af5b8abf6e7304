// What a thread does while it waits for another one for a short time.
#pragma once

namespace scanloom {

/// Tells the core that this thread waits in a loop, so that its other thread runs faster.
inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

}  // namespace scanloom
