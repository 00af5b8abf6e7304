#include "base/fp_environment.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <limits>
#include <thread>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace scanloom {
namespace {

// Volatile, so that the sums are computed here and now.
float halved(float x) {
  volatile float a = x;
  a = a * 0.5f;
  return a;
}
float third(float sign) {
  volatile float one = sign;
  volatile float three = 3;
  return one / three;
}

/// FE_TONEAREST, FE_UPWARD, FE_DOWNWARD or FE_TOWARDZERO, as float arithmetic shows it:
/// fegetround() reads x87's control word on x86-64, which no code of the library computes with.
int rounding() {
  constexpr float kAbove = 0x1.555556p-2f;  // the neighbours of 1/3; the greater one is nearer
  const bool up = third(1) == kAbove;
  const bool down = third(-1) == -kAbove;
  if (up) return down ? FE_TONEAREST : FE_UPWARD;
  return down ? FE_DOWNWARD : FE_TOWARDZERO;
}

class RoundingMode {
 public:
  explicit RoundingMode(int mode) : saved_(std::fegetround()) { std::fesetround(mode); }
  ~RoundingMode() { std::fesetround(saved_); }

 private:
  int saved_;
};

TEST(FpEnvironment, RoundsToNearestAndRestores) {
  for (const int mode : {FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO, FE_TONEAREST}) {
    const RoundingMode rounding_mode(mode);
    ASSERT_EQ(rounding(), mode);
    {
      const FpEnvironment environment;
      EXPECT_EQ(rounding(), FE_TONEAREST);
    }
    EXPECT_EQ(rounding(), mode);
  }
}

TEST(FpEnvironment, Nests) {
  const RoundingMode upward(FE_UPWARD);
  {
    const FpEnvironment outer;
    {
      const FpEnvironment inner;
    }
    EXPECT_EQ(rounding(), FE_TONEAREST);
  }
  EXPECT_EQ(rounding(), FE_UPWARD);
}

TEST(FpEnvironment, UndoesWhatChangedMeanwhile) {
  const RoundingMode restores(FE_TONEAREST);
  {
    const FpEnvironment environment;
    std::fesetround(FE_TOWARDZERO);
    ASSERT_EQ(rounding(), FE_TOWARDZERO);
  }
  EXPECT_EQ(rounding(), FE_TONEAREST);
}

TEST(FpEnvironment, IsTheThreadsOwn) {
  const RoundingMode upward(FE_UPWARD);
  int inside = -1;
  std::thread([&] {
    const FpEnvironment environment;
    inside = rounding();
  }).join();
  EXPECT_EQ(inside, FE_TONEAREST);
  EXPECT_EQ(rounding(), FE_UPWARD);
}

#if defined(__x86_64__)
TEST(FpEnvironment, KeepsDenormals) {
  constexpr unsigned kFlushToZero = 0x8000;
  constexpr unsigned kDenormalsAreZero = 0x0040;
  const float least = std::numeric_limits<float>::min();
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | kFlushToZero | kDenormalsAreZero);
  const float flushed = halved(least);
  float kept = 0;
  {
    const FpEnvironment environment;
    kept = halved(least);
  }
  const unsigned after = _mm_getcsr();
  _mm_setcsr(saved);
  EXPECT_EQ(flushed, 0.0f);
  EXPECT_EQ(kept, 0x1p-127f);
  EXPECT_EQ(after & (kFlushToZero | kDenormalsAreZero), kFlushToZero | kDenormalsAreZero);
}

// An unmasked exception would end the process here.
TEST(FpEnvironment, MasksExceptionsAndKeepsTheCallersFlags) {
  constexpr unsigned kInvalidMask = 0x0080;
  constexpr unsigned kFlags = 0x003f;
  const unsigned saved = _mm_getcsr();
  const unsigned wanted = saved & ~kInvalidMask & ~kFlags;
  _mm_setcsr(wanted);
  {
    const FpEnvironment environment;
    volatile float zero = 0;
    zero = zero / zero;
  }
  const unsigned after = _mm_getcsr();
  _mm_setcsr(saved);
  EXPECT_EQ(after, wanted);
}
#endif

}  // namespace
}  // namespace scanloom
