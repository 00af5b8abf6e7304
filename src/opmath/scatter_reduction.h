// How scatter_elements and scatter_nd combine an update with the existing element.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "tensor/scalar_arith.h"
#include "tensor/visit.h"

namespace scanloom::tensor {

enum class ScatterReduction : std::uint8_t { none, add, mul, max, min };

inline constexpr std::array<std::string_view, 5> kScatterReductions = {"none", "add", "mul", "max",
                                                                       "min"};

/// Returns nullopt for an unknown name.
inline std::optional<ScatterReduction> scatter_reduction_of(std::string_view text) {
  const auto* const found = std::ranges::find(kScatterReductions, text);
  if (found == kScatterReductions.end()) return std::nullopt;
  return static_cast<ScatterReduction>(found - kScatterReductions.begin());
}

/// Integer sums and products wrap. Those of f16, bf16 and narrower floating point are rounded after
/// each update. For booleans add, mul, max and min are or, and, or, and. NaN wins in max and min.
template <class T>
[[nodiscard]] T combine(ScatterReduction reduction, T there, T update) {
  if constexpr (is_complex_type<T>) {
    return reduction == ScatterReduction::add ? there + update : arith::multiply(there, update);
  } else if constexpr (std::is_same_v<T, bool>) {
    const bool either = reduction == ScatterReduction::add || reduction == ScatterReduction::max;
    return either ? there || update : there && update;
  } else if constexpr (std::is_floating_point_v<T> || SmallFloatType<T>) {
    const auto a = widen(there), b = widen(update);
    if (reduction == ScatterReduction::add) return narrow<T>(a + b);
    if (reduction == ScatterReduction::mul) return narrow<T>(a * b);
    return narrow<T>(reduction == ScatterReduction::max ? arith::maximum(a, b)
                                                        : arith::minimum(a, b));
  } else if constexpr (RealOrInteger<T>) {
    const auto a = widen(there), b = widen(update);
    if (reduction == ScatterReduction::max) return std::max(there, update);
    if (reduction == ScatterReduction::min) return std::min(there, update);
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    return narrow<T>(reduction == ScatterReduction::add ? x + y : x * y);
  } else {
    return update;
  }
}

}  // namespace scanloom::tensor
