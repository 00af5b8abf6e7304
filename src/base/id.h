// Id<Tag>: a typed 32-bit index into a table. Ids of different tables do not mix.
#pragma once

#include <compare>
#include <cstdint>

namespace scanloom {

template <class Tag>
struct Id {
  static constexpr std::uint32_t kNone = 0xffffffffu;
  std::uint32_t index = kNone;

  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t i) : index(i) {}
  constexpr explicit Id(std::size_t i) : index(static_cast<std::uint32_t>(i)) {}
  [[nodiscard]] constexpr bool valid() const { return index != kNone; }
  constexpr explicit operator bool() const { return valid(); }
  friend constexpr auto operator<=>(Id, Id) = default;
};

}  // namespace scanloom
