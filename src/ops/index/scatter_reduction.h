// How scatter_elements and scatter_nd combine an update with the existing element.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "ir/infer_ctx.h"
#include "tensor/scalar_arith.h"
#include "tensor/visit.h"

namespace scanloom::ops {

enum class Reduction : std::uint8_t { none, add, mul, max, min };

inline constexpr std::array<std::string_view, 5> kReductions = {"none", "add", "mul", "max", "min"};

/// Returns nullopt for an unknown name.
std::optional<Reduction> reduction_of(std::string_view text);

/// Returns the reduction of that name for elements of that dtype. Errors: invalid_model (an unknown
/// name, or elements that cannot be added or compared).
Expected<Reduction> check_reduction(std::string_view text, DType dtype);

/// Integer sums and products wrap. Those of f16, bf16 and narrower floating point are rounded after
/// each update. For booleans add, mul, max and min are or, and, or, and. NaN wins in max and min.
template <class T>
[[nodiscard]] T combine(Reduction reduction, T there, T update) {
  if constexpr (tensor::is_complex_type<T>) {
    return reduction == Reduction::add ? there + update : tensor::arith::multiply(there, update);
  } else if constexpr (std::is_same_v<T, bool>) {
    const bool either = reduction == Reduction::add || reduction == Reduction::max;
    return either ? there || update : there && update;
  } else if constexpr (std::is_floating_point_v<T> || tensor::SmallFloatType<T>) {
    const auto a = tensor::widen(there), b = tensor::widen(update);
    if (reduction == Reduction::add) return tensor::narrow<T>(a + b);
    if (reduction == Reduction::mul) return tensor::narrow<T>(a * b);
    return tensor::narrow<T>(reduction == Reduction::max ? tensor::arith::maximum(a, b)
                                                         : tensor::arith::minimum(a, b));
  } else if constexpr (tensor::RealOrInteger<T>) {
    const auto a = tensor::widen(there), b = tensor::widen(update);
    if (reduction == Reduction::max) return std::max(there, update);
    if (reduction == Reduction::min) return std::min(there, update);
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    return tensor::narrow<T>(reduction == Reduction::add ? x + y : x * y);
  } else {
    return update;
  }
}

}  // namespace scanloom::ops
