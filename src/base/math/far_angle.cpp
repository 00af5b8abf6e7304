#include "base/math/far_angle.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/math/scalar_domain.h"
#include "base/math/trig.h"

namespace scanloom::math {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr int kWord = 64;

/// Bits of 2 / pi after the point, preceded by a word of zeros for numbers with fraction bits.
constexpr std::uint64_t kTwoOverPi[] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
    0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
    0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
    0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};
/// pi / 2 with 126 bits after the point.
constexpr std::uint64_t kHalfPiHigh = 0x6487ed5110b4611a, kHalfPiLow = 0x62633145c06e0e68;

std::uint64_t high(Wide product) { return static_cast<std::uint64_t>(product >> kWord); }
std::uint64_t low(Wide product) { return static_cast<std::uint64_t>(product); }
/// The word that begins `shift` bits after the first bit of `first`; shift < 64.
std::uint64_t word_from(std::uint64_t first, std::uint64_t second, int shift) {
  return shift == 0 ? first : first << shift | second >> (kWord - shift);
}

/// Quarter turns modulo 4, and the remaining fraction of one: 190 bits after the point.
struct Turns {
  int quarters;
  std::uint64_t rest[3];
};

/// x 2 / pi modulo 4, for x = m 2^e with an integer m. Skips the bits of 2 / pi whose products with
/// x are multiples of 4 and uses the next 192; the rest adds less than 2^-137. No f64 except 0 is
/// nearer to a multiple of pi / 2 than 2^-61 (tests/base/math_test.cpp), so 75 bits of the rest are
/// right.
Turns turns_of(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t m = (bits & 0x000fffffffffffff) | 0x0010000000000000;
  const int e = static_cast<int>(bits >> 52 & 0x7ff) - 1075;
  const int begin = kWord + e - 2;
  const std::uint64_t* const words = kTwoOverPi + begin / kWord;
  const int shift = begin % kWord;
  const Wide last = Wide{m} * word_from(words[2], words[3], shift);
  const Wide middle = Wide{m} * word_from(words[1], words[2], shift) + high(last);
  const std::uint64_t first = m * word_from(words[0], words[1], shift) + high(middle);
  return {static_cast<int>(first >> (kWord - 2)),
          {word_from(first, low(middle), 2), word_from(low(middle), low(last), 2), low(last) << 2}};
}

/// x = (turns + 4 k) pi / 2 + r - lost, r rounded.
struct FarAngle {
  double r, lost;
  int turns;
};

FarAngle reduced(double x) {
  auto [turns, rest] = turns_of(std::fabs(x));
  // Round to the nearest quarter turn: more than half of one counts from the other side.
  const bool beyond = rest[0] >> (kWord - 1) != 0;
  if (beyond) {
    ++turns;
    // Flipping all bits is off by one in the last of 190 places.
    for (std::uint64_t& word : rest) word = ~word;
  }
  const int zeros = std::countl_zero(rest[0]);
  const std::uint64_t first = word_from(rest[0], rest[1], zeros);
  const std::uint64_t second = word_from(rest[1], rest[2], zeros);
  // Times pi / 2: 126 bits of the product are after the point, counted from 2^-zeros.
  const Wide product =
      Wide{first} * kHalfPiHigh + high(Wide{first} * kHalfPiLow) + high(Wide{second} * kHalfPiHigh);
  // The upper 53 bits are exact as a number; the rest is small compared with their last bit.
  const std::uint64_t upper = high(product) >> 10;
  const auto lower = static_cast<std::uint64_t>(product >> 10);
  const double up = std::ldexp(static_cast<double>(upper), -52 - zeros);
  const double rest_of_it = std::ldexp(static_cast<double>(lower), -52 - zeros - kWord);
  double r = up + rest_of_it;
  double lost = (r - up) - rest_of_it;
  if (beyond) r = -r, lost = -lost;
  if (x < 0) r = -r, lost = -lost, turns = -turns;
  return {r, lost, turns};
}

double far_sin_shifted(double x, int quarter_turns) {
  if (!std::isfinite(x)) return __builtin_nan("");
  const FarAngle angle = reduced(x);
  const ScalarDomain<double, false> m;
  return sin_reduced(m, angle.r, angle.lost, std::int64_t{angle.turns + quarter_turns});
}

}  // namespace

float far_sin(float x) { return static_cast<float>(far_sin_shifted(x, 0)); }
double far_sin(double x) { return far_sin_shifted(x, 0); }
float far_cos(float x) { return static_cast<float>(far_sin_shifted(x, 1)); }
double far_cos(double x) { return far_sin_shifted(x, 1); }

}  // namespace scanloom::math
