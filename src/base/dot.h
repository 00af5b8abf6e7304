// The rule for all products: sums run over k in order, one multiply-add at a time, which rounds
// once if the active instruction set has fma and twice otherwise. Reference kernels call these
// functions; vector kernels do the same per lane, so all give the same bits.
#pragma once

#include <cstdint>

namespace scanloom {

/// start + a[0] b[0] + a[1] b[1] + ...; strides are in elements.
float dot_in_order(const float* a, std::int64_t stride_a, const float* b, std::int64_t stride_b,
                   std::int64_t n, float start) noexcept;
double dot_in_order(const double* a, std::int64_t stride_a, const double* b, std::int64_t stride_b,
                    std::int64_t n, double start) noexcept;

/// a * b + c under the same rule.
float multiply_add(float a, float b, float c) noexcept;
double multiply_add(double a, double b, double c) noexcept;

}  // namespace scanloom
