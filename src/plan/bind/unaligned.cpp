#include "plan/bind/unaligned.h"

#include <cstddef>

namespace scanloom::plan {
namespace {

bool has_bit(std::uint32_t bits, std::size_t i) { return i < 32 && (bits >> i & 1U) != 0; }

}  // namespace

void UnalignedConstants::add(SlotId slot, const tensor::Tensor& data, std::uint32_t readers) {
  constants_.emplace(slot, Constant{data, readers});
}

bool UnalignedConstants::align(Binding& binding, SlotId slot) {
  const auto found = constants_.find(slot);
  if (found == constants_.end()) return false;
  binding.slots[static_cast<std::size_t>(slot)].constant =
      static_cast<const std::byte*>(found->second.data.data());
  constants_.erase(found);
  return true;
}

bool UnalignedConstants::align(Binding& binding, std::span<const Location> constants,
                               std::uint32_t packed) {
  bool any = false;
  for (std::size_t i = 0; i < constants.size(); ++i)
    if (!has_bit(packed, i)) any |= align(binding, constants[i].spot.slot);
  return any;
}

void UnalignedConstants::note_packed(std::span<const Location> constants) {
  for (const Location& constant : constants)
    if (const auto left = constants_.find(constant.spot.slot); left != constants_.end())
      --left->second.readers;
}

void UnalignedConstants::align_others(Binding& binding) {
  for (auto next = constants_.begin(); next != constants_.end();) {
    const auto& [slot, constant] = *next++;
    if (constant.readers > 0) align(binding, slot);
  }
}

}  // namespace scanloom::plan
