// Products of bytes by the instruction of AVX-512 VNNI, which multiplies four unsigned bytes with
// four signed ones and adds all four products to a 32-bit sum. Sums wrap, like those of the other
// instruction sets.
#if defined(__x86_64__)
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/byte_product.h"

// Unrolled early, so that sums stay in registers: GCC 12 stores the array in every step otherwise.
#define SCANLOOM_UNROLL _Pragma("GCC unroll 8")
#define SCANLOOM_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

namespace scanloom::kernels {
namespace {

template <bool kSignedA, int kRows, int kPanels>
SCANLOOM_VNNI void vnni_tile(const QuadStrip& s, const std::byte* b, std::int32_t* c) {
  const auto* const a = static_cast<const std::byte*>(s.a);
  __m512i sums[kRows][kPanels];
  SCANLOOM_UNROLL
  for (int r = 0; r < kRows; ++r) SCANLOOM_UNROLL
  for (int p = 0; p < kPanels; ++p) sums[r][p] = _mm512_setzero_si512();
  for (std::int64_t i = 0; i < s.quads; ++i) {
    __m512i columns[kPanels];
    SCANLOOM_UNROLL
    for (int p = 0; p < kPanels; ++p)
      columns[p] = _mm512_loadu_si512(b + p * s.b_panel + i * s.b_step);
    SCANLOOM_UNROLL
    for (int r = 0; r < kRows; ++r) {
      std::int32_t bits;
      std::memcpy(&bits, a + r * s.a_row + i * kQuad, sizeof(bits));
      const __m512i row = _mm512_set1_epi32(bits);
      SCANLOOM_UNROLL
      for (int p = 0; p < kPanels; ++p)
        sums[r][p] = kSignedA ? _mm512_dpbusd_epi32(sums[r][p], columns[p], row)
                              : _mm512_dpbusd_epi32(sums[r][p], row, columns[p]);
    }
  }
  SCANLOOM_UNROLL
  for (int r = 0; r < kRows; ++r) SCANLOOM_UNROLL
  for (int p = 0; p < kPanels; ++p)
    _mm512_storeu_si512(c + r * s.c_row + p * kQuadColumns, sums[r][p]);
}

template <bool kSignedA, int kRows>
SCANLOOM_VNNI void vnni_strip(const QuadStrip& s) {
  const auto* const b = static_cast<const std::byte*>(s.b);
  if (s.panels == 4) return vnni_tile<kSignedA, kRows, 4>(s, b, s.c);
  if (s.panels == 3) return vnni_tile<kSignedA, kRows, 3>(s, b, s.c);
  if (s.panels == 2) return vnni_tile<kSignedA, kRows, 2>(s, b, s.c);
  vnni_tile<kSignedA, kRows, 1>(s, b, s.c);
}

template <int... kRows>
constexpr QuadProductFns vnni_fns(std::integer_sequence<int, kRows...>) {
  return {.strip = {vnni_strip<false, kRows + 1>...},
          .signed_rows = {vnni_strip<true, kRows + 1>...}};
}

}  // namespace

extern constinit const QuadProductFns kVnniProducts =
    vnni_fns(std::make_integer_sequence<int, kMaxQuadRows>());

}  // namespace scanloom::kernels

#undef SCANLOOM_VNNI
#undef SCANLOOM_UNROLL
#endif
