#include "base/denormals.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace scanloom {

#if defined(__x86_64__)
// The sticky flag of an exception that is masked.
constexpr unsigned kDenormalOperand = 1U << 1;

void forget_denormals() {
  const unsigned control = _mm_getcsr();
  if ((control & kDenormalOperand) != 0) _mm_setcsr(control & ~kDenormalOperand);
}

bool met_denormals() { return (_mm_getcsr() & kDenormalOperand) != 0; }
#else
void forget_denormals() {}

bool met_denormals() { return false; }
#endif

}  // namespace scanloom
