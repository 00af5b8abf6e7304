// Windows over lines of bytes (kernels/byte_taps.h) by AVX-512 VNNI. A lane of 32 bits sums the
// windows that begin at its four bytes, or its first and third, in as many vectors; their results
// are bytes of that lane again, so that nothing has to be put in order.
#include "kernels/byte_taps.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>

#define SCANLOOM_UNROLL _Pragma("GCC unroll 8")
#define SCANLOOM_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

namespace scanloom::kernels {
namespace {

// Copies fewer than 64 bytes, by two pieces that overlap.
SCANLOOM_VNNI inline void copy_short(const std::uint8_t* from, std::int64_t n, std::uint8_t* to) {
  const auto both_ends = [&]<class T>(T) {
    T first, last;
    const auto size = static_cast<std::int64_t>(sizeof(T));
    std::memcpy(&first, from, sizeof(T));
    std::memcpy(&last, from + n - size, sizeof(T));
    std::memcpy(to, &first, sizeof(T));
    std::memcpy(to + n - size, &last, sizeof(T));
  };
  if (n >= 16) {
    std::int64_t i = 0;
    for (; i + 16 <= n; i += 16)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + n - 16),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + n - 16)));
  } else if (n >= 8) {
    both_ends(std::uint64_t{});
  } else if (n >= 4) {
    both_ends(std::uint32_t{});
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
  }
}

SCANLOOM_VNNI inline void store(__m512i v, std::int64_t count, std::uint8_t* to) {
  if (count >= kByteTapResults) return _mm512_storeu_si512(to, v);
  alignas(64) std::uint8_t bytes[kByteTapResults];
  _mm512_store_si512(bytes, v);
  copy_short(bytes, count, to);
}

// The lowest byte of each lane is the result less the zero point: rounded to nearest even by adding
// 1.5 * 2^23, which leaves no bits for a fraction, and the integer in the lowest ones.
SCANLOOM_VNNI inline __m512i rounded(__m512i sums, __m512i bias, __m512 scale, __m512 least,
                                     __m512 most) {
  const __m512 real = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_add_epi32(sums, bias)), scale);
  const __m512 limited = _mm512_min_ps(_mm512_max_ps(real, least), most);
  return _mm512_castps_si512(_mm512_add_ps(limited, _mm512_set1_ps(12582912.0f)));
}

SCANLOOM_VNNI inline __m256i low_bytes(__m512i even, __m512i odd) {
  return _mm512_cvtepi16_epi8(
      _mm512_mask_blend_epi16(0xaaaaaaaa, even, _mm512_slli_epi32(odd, 16)));
}

template <int kStep>
SCANLOOM_VNNI inline __m512i in_order(const __m512i (&of)[4]) {
  if constexpr (kStep == 1) {
    const __m512i low =
        _mm512_mask_blend_epi8(0x2222222222222222, of[0], _mm512_slli_epi32(of[1], 8));
    const __m512i high = _mm512_mask_blend_epi8(0x8888888888888888, _mm512_slli_epi32(of[2], 16),
                                                _mm512_slli_epi32(of[3], 24));
    return _mm512_mask_blend_epi16(0xaaaaaaaa, low, high);
  } else {
    return _mm512_inserti64x4(_mm512_castsi256_si512(low_bytes(of[0], of[1])),
                              low_bytes(of[2], of[3]), 1);
  }
}

template <int kStep, class T>
SCANLOOM_VNNI void sum_line(const ByteTaps& taps, T* to) {
  using Limits = std::numeric_limits<T>;
  const __m512i bias = _mm512_set1_epi32(taps.bias);
  const __m512 scale = _mm512_set1_ps(taps.scale);
  const __m512 least = _mm512_set1_ps(static_cast<float>(Limits::min() - taps.zero));
  const __m512 most = _mm512_set1_ps(static_cast<float>(Limits::max() - taps.zero));
  const __m512i zero = _mm512_set1_epi8(static_cast<char>(taps.zero));
  for (std::int64_t at = 0; at < taps.count; at += kByteTapResults) {
    const std::uint8_t* const x = taps.x + at * kStep;
    __m512i sums[4];
    SCANLOOM_UNROLL
    for (int v = 0; v < 4; ++v) sums[v] = _mm512_setzero_si512();
    for (std::int64_t i = 0; i < taps.quads; ++i) {
      const __m512i weights = _mm512_set1_epi32(taps.weights[i]);
      const std::uint8_t* const from = x + taps.offsets[i];
      SCANLOOM_UNROLL
      for (int v = 0; v < 4; ++v) {
        const int first = kStep == 1 ? v : v / 2 * 64 + v % 2 * 2;
        sums[v] = _mm512_dpbusd_epi32(sums[v], _mm512_loadu_si512(from + first), weights);
      }
    }
    SCANLOOM_UNROLL
    for (int v = 0; v < 4; ++v) sums[v] = rounded(sums[v], bias, scale, least, most);
    store(_mm512_add_epi8(in_order<kStep>(sums), zero), taps.count - at,
          reinterpret_cast<std::uint8_t*>(to + at));
  }
}

template <class T>
SCANLOOM_VNNI void sum_taps(const ByteTaps& taps, T* to) {
  if (taps.step == 1)
    sum_line<1>(taps, to);
  else
    sum_line<2>(taps, to);
}

SCANLOOM_VNNI void copy_lines(const ByteLines& lines) {
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(lines.flip));
  alignas(64) std::uint8_t last[64];
  for (std::int64_t line = 0; line < lines.lines; ++line) {
    const std::uint8_t* const from = lines.from + line * lines.from_step;
    std::uint8_t* const to = lines.to + line * lines.to_step;
    std::int64_t i = 0;
    for (; i + 64 <= lines.length; i += 64)
      _mm512_storeu_si512(to + i, _mm512_xor_si512(_mm512_loadu_si512(from + i), flip));
    const std::int64_t rest = lines.length - i;
    if (rest == 0) continue;
    if (lines.flip == 0) {
      copy_short(from + i, rest, to + i);
      continue;
    }
    copy_short(from + i, rest, last);
    _mm512_store_si512(last, _mm512_xor_si512(_mm512_load_si512(last), flip));
    copy_short(last, rest, to + i);
  }
}

constexpr ByteTapFns kVnniTaps{
    .u8 = sum_taps<std::uint8_t>, .i8 = sum_taps<std::int8_t>, .copy = copy_lines};

}  // namespace

const ByteTapFns* byte_taps(Isa isa) {
  static const bool has_vnni = __builtin_cpu_supports("avx512vnni");
  return isa == Isa::avx512 && has_vnni ? &kVnniTaps : nullptr;
}

}  // namespace scanloom::kernels

#undef SCANLOOM_VNNI
#undef SCANLOOM_UNROLL
#else
namespace scanloom::kernels {

const ByteTapFns* byte_taps(Isa) { return nullptr; }

}  // namespace scanloom::kernels
#endif
