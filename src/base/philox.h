// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3, SC 2011):
// maps a counter and a key to 128 random bits. It has no state: the same counter and key always
// give the same bits, in any thread.
#pragma once

#include <array>
#include <cstdint>

namespace scanloom {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

inline constexpr int kPhiloxRounds = 10;
inline constexpr std::uint32_t kPhiloxFactors[] = {0xD2511F53, 0xCD9E8D57};
/// Increments of the key's words after each round.
inline constexpr std::uint32_t kPhiloxWeyl[] = {0x9E3779B9, 0xBB67AE85};

[[nodiscard]] constexpr PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t first = std::uint64_t{kPhiloxFactors[0]} * counter[0];
    const std::uint64_t second = std::uint64_t{kPhiloxFactors[1]} * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(first)};
    key = {key[0] + kPhiloxWeyl[0], key[1] + kPhiloxWeyl[1]};
  }
  return counter;
}

constexpr std::uint32_t low_word(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
constexpr std::uint32_t high_word(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32);
}

/// The blocks of random bits of one random tensor, by number.
struct PhiloxBlocks {
  PhiloxKey key = {};
  std::uint32_t high_mask = ~std::uint32_t{0};  ///< bits kept of the number's high word
  std::uint32_t other_bits = 0;                 ///< the other bits of that word of the counter
  std::uint32_t third = 0, fourth = 0;

  [[nodiscard]] constexpr PhiloxCounter block(std::uint64_t number) const {
    return philox({low_word(number), (high_word(number) & high_mask) | other_bits, third, fourth},
                  key);
  }
};

}  // namespace scanloom
