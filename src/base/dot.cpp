#include "base/dot.h"

#include <cmath>

#include "base/cpu.h"
#include "base/with_fma.h"

namespace scanloom {
namespace {

template <class T>
SCANLOOM_WITH_FMA T dot_fused(const T* a, std::int64_t stride_a, const T* b, std::int64_t stride_b,
                              std::int64_t n, T sum) noexcept {
  for (std::int64_t k = 0; k < n; ++k) {
    if constexpr (sizeof(T) == sizeof(float)) {
      sum = __builtin_fmaf(a[k * stride_a], b[k * stride_b], sum);
    } else {
      sum = __builtin_fma(a[k * stride_a], b[k * stride_b], sum);
    }
  }
  return sum;
}

template <class T>
T dot_separate(const T* a, std::int64_t stride_a, const T* b, std::int64_t stride_b, std::int64_t n,
               T sum) noexcept {
  for (std::int64_t k = 0; k < n; ++k) sum += a[k * stride_a] * b[k * stride_b];
  return sum;
}

}  // namespace

float dot_in_order(const float* a, std::int64_t stride_a, const float* b, std::int64_t stride_b,
                   std::int64_t n, float start) noexcept {
  return has_fma() ? dot_fused(a, stride_a, b, stride_b, n, start)
                   : dot_separate(a, stride_a, b, stride_b, n, start);
}

double dot_in_order(const double* a, std::int64_t stride_a, const double* b, std::int64_t stride_b,
                    std::int64_t n, double start) noexcept {
  return has_fma() ? dot_fused(a, stride_a, b, stride_b, n, start)
                   : dot_separate(a, stride_a, b, stride_b, n, start);
}

float multiply_add(float a, float b, float c) noexcept {
  return has_fma() ? std::fma(a, b, c) : a * b + c;
}

double multiply_add(double a, double b, double c) noexcept {
  return has_fma() ? std::fma(a, b, c) : a * b + c;
}

}  // namespace scanloom
