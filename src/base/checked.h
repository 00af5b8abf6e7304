// A product of sizes that notices overflow.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace scanloom {

/// 1 for no factors. Zero wins over an overflow of the other factors only where it comes first.
inline std::optional<std::int64_t> checked_product(std::span<const std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors)
    if (__builtin_mul_overflow(product, factor, &product)) return std::nullopt;
  return product;
}

}  // namespace scanloom
