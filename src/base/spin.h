// What a thread does while it waits for another one for a short time.
#pragma once

#include <chrono>

namespace scanloom {

/// Tells the core that this thread waits in a loop, so that its other thread runs faster.
inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

/// Spins until `done()`, at most for about `limit`; returns whether it is done. Counts time because
/// a pause takes from 10 to 50 nanoseconds, depending on the core.
template <class Done>
bool spin_until(Done done, std::chrono::nanoseconds limit) {
  constexpr int kPausesPerLook = 16;  // at the clock
  const auto begin = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < kPausesPerLook; ++i) {
      if (done()) return true;
      spin_pause();
    }
  } while (std::chrono::steady_clock::now() - begin < limit);
  return done();
}

}  // namespace scanloom
