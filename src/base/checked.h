// Integer arithmetic that notices overflow; every size that comes from a user goes through it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace scanloom {

inline std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

inline std::optional<std::int64_t> checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// 1 for no factors. Zero wins over an overflow of the other factors only where it comes first.
inline std::optional<std::int64_t> checked_product(std::span<const std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors)
    if (__builtin_mul_overflow(product, factor, &product)) return std::nullopt;
  return product;
}

}  // namespace scanloom
