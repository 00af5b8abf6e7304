// What a thread does while it waits for another one for a short time.
#pragma once

#include <chrono>
#include <concepts>

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
template <std::predicate Done>
bool spin_until(Done done, std::chrono::nanoseconds limit) {
  constexpr int kPausesPerReading = 16;  // of the clock
  const auto begin = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < kPausesPerReading; ++i) {
      if (done()) return true;
      spin_pause();
    }
  } while (std::chrono::steady_clock::now() - begin < limit);
  return done();
}

}  // namespace scanloom
