// Products and sums of sizes that detect overflow.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace scanloom {

/// The product, 1 for no factors; nullopt on overflow. A zero factor prevents overflow only of the
/// factors after it.
inline std::optional<std::int64_t> checked_product(std::span<const std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors)
    if (__builtin_mul_overflow(product, factor, &product)) return std::nullopt;
  return product;
}

inline std::optional<std::int64_t> checked_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

/// The sum of two sizes (not negative), or the largest number if it does not fit.
inline std::int64_t saturating_sum(std::int64_t a, std::int64_t b) {
  return checked_sum(a, b).value_or(std::numeric_limits<std::int64_t>::max());
}

}  // namespace scanloom
