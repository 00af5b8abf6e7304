// Analysis of accesses: which memory they touch, and how they walk along the axes of a nest.
#pragma once

#include <cstdint>
#include <vector>

#include "loopnest/loopnest.h"

namespace scanloom::loopnest {

/// Memory that a statement reads or writes: bytes [first, last) from the slot's pointer.
struct Use {
  std::int32_t slot = 0;
  std::int64_t first = 0, last = 0;

  [[nodiscard]] bool overlaps(const Use& other) const {
    return slot == other.slot && first < other.last && other.first < last;
  }
};

/// Returns the bytes between the first and the last element over axes of these sizes. No size is 0.
Use use_of(const Access& operand, const std::vector<std::int64_t>& sizes);
Use use_of(const DynamicIndex& index, const std::vector<std::int64_t>& sizes);

/// Calls f(index) for each index of an operand of the nest.
template <class Nest, class F>
void for_indices(Nest& nest, F&& f) {
  for (auto* operands : {&nest.reads, &nest.writes})
    for (auto& operand : *operands)
      for (auto& index : operand.indices) f(index);
}

[[nodiscard]] bool overlap(const std::vector<Use>& a, const std::vector<Use>& b);

/// Returns the axes that a reduction's reads walk: the nest's, then the reduction's own.
std::vector<std::int64_t> axes_of(const Nest& nest, const Reduction& reduction);

/// Whether a reduction's read has adjacent elements along the reduction's last axis but not along
/// the lanes, so that blocks of it are transposed.
[[nodiscard]] inline bool is_across(const Nest& nest, const Access& read) {
  if (nest.sizes.empty()) return false;
  const std::int64_t along = read.strides[nest.sizes.size() - 1];
  return along != 0 && along != 1 && read.strides.size() > nest.sizes.size() &&
         read.strides.back() == 1 && read.dtype != DType::boolean;
}

}  // namespace scanloom::loopnest
