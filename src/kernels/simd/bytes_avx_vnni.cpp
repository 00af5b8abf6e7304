// Products of bytes by the instruction of AVX-VNNI, the form of AVX-512 VNNI for 256 bits that
// machines without AVX-512 have.
#if defined(__x86_64__)
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/byte_product.h"

// As in bytes_vnni.cpp, so that sums stay in registers.
#define SCANLOOM_UNROLL _Pragma("GCC unroll 8")
#define SCANLOOM_AVX_VNNI __attribute__((target("avx2,avxvnni")))

namespace scanloom::kernels {
namespace {

constexpr int kVectors = 2;  // of a panel
constexpr std::int64_t kVectorColumns = kQuadColumns / kVectors;

template <bool kSignedA, int kRows>
SCANLOOM_AVX_VNNI void avx_vnni_panel(const QuadStrip& s, const std::byte* b, std::int32_t* c) {
  const auto* const a = static_cast<const std::byte*>(s.a);
  __m256i sums[kRows][kVectors];
  SCANLOOM_UNROLL
  for (int r = 0; r < kRows; ++r) SCANLOOM_UNROLL
  for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm256_setzero_si256();
  for (std::int64_t i = 0; i < s.quads; ++i) {
    __m256i columns[kVectors];
    SCANLOOM_UNROLL
    for (int v = 0; v < kVectors; ++v)
      columns[v] = _mm256_loadu_si256(
          reinterpret_cast<const __m256i*>(b + i * s.b_step + v * kVectorColumns * kQuad));
    SCANLOOM_UNROLL
    for (int r = 0; r < kRows; ++r) {
      std::int32_t bits;
      std::memcpy(&bits, a + r * s.a_row + i * kQuad, sizeof(bits));
      const __m256i row = _mm256_set1_epi32(bits);
      SCANLOOM_UNROLL
      for (int v = 0; v < kVectors; ++v)
        sums[r][v] = kSignedA ? _mm256_dpbusd_avx_epi32(sums[r][v], columns[v], row)
                              : _mm256_dpbusd_avx_epi32(sums[r][v], row, columns[v]);
    }
  }
  SCANLOOM_UNROLL
  for (int r = 0; r < kRows; ++r) SCANLOOM_UNROLL
  for (int v = 0; v < kVectors; ++v)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(c + r * s.c_row + v * kVectorColumns),
                        sums[r][v]);
}

template <bool kSignedA, int kRows>
SCANLOOM_AVX_VNNI void avx_vnni_strip(const QuadStrip& s) {
  const auto* b = static_cast<const std::byte*>(s.b);
  for (int p = 0; p < s.panels; ++p, b += s.b_panel)
    avx_vnni_panel<kSignedA, kRows>(s, b, s.c + p * kQuadColumns);
}

template <int... kRows>
constexpr QuadProductFns avx_vnni_fns(std::integer_sequence<int, kRows...>) {
  return {.strip = {avx_vnni_strip<false, kRows + 1>...},
          .signed_rows = {avx_vnni_strip<true, kRows + 1>...}};
}

}  // namespace

extern constinit const QuadProductFns kAvxVnniProducts =
    avx_vnni_fns(std::make_integer_sequence<int, kMaxQuadRows>());

}  // namespace scanloom::kernels

#undef SCANLOOM_AVX_VNNI
#undef SCANLOOM_UNROLL
#endif
