// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3, SC 2011):
// a counter and a key to 128 random bits. There is no state: the same counter and key always give
// the same bits, whichever thread asks.
#pragma once

#include <array>
#include <cstdint>

namespace scanloom {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

[[nodiscard]] constexpr PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  constexpr int kRounds = 10;
  constexpr std::uint64_t kFirst = 0xD2511F53, kSecond = 0xCD9E8D57;
  constexpr PhiloxKey kWeyl = {0x9E3779B9, 0xBB67AE85};
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t first = kFirst * counter[0], second = kSecond * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(first)};
    key = {key[0] + kWeyl[0], key[1] + kWeyl[1]};
  }
  return counter;
}

}  // namespace scanloom
