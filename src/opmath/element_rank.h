// Numbers that order like elements: by value, -0 equal to +0, NaN equal to NaN and above all. With
// them a sort compares integers. The order is that of ops/index/element_order.h.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "tensor/visit.h"

namespace scanloom {

template <class T>
concept Ranked = std::is_arithmetic_v<T> || tensor::SmallFloatType<T>;

/// 32 bits for elements of up to 4 bytes, else 64.
template <Ranked T>
using RankOf = std::conditional_t<(sizeof(T) <= 4), std::uint32_t, std::uint64_t>;

template <Ranked T>
[[nodiscard]] RankOf<T> rank_of(T element) {
  using Rank = RankOf<T>;
  constexpr Rank kSign = Rank{1} << (8 * sizeof(Rank) - 1);
  if constexpr (tensor::SmallFloatType<T>) {
    return rank_of(tensor::widen(element));
  } else if constexpr (std::is_floating_point_v<T>) {
    if (element != element) return ~Rank{0};
    const auto bits = std::bit_cast<Rank>(element == 0 ? T{0} : element);
    return (bits & kSign) != 0 ? static_cast<Rank>(~bits) : bits | kSign;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<Rank>(static_cast<std::make_signed_t<Rank>>(element)) ^ kSign;
  } else {
    return static_cast<Rank>(element);
  }
}

}  // namespace scanloom
