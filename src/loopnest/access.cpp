#include "loopnest/access.h"

#include <algorithm>

namespace scanloom::loopnest {

Use use_of(const Access& operand, const std::vector<std::int64_t>& sizes) {
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(operand.dtype));
  Use use{operand.slot, operand.offset, operand.offset + bytes};
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const std::int64_t reach = (sizes[axis] - 1) * operand.strides[axis] * bytes;
    (reach < 0 ? use.first : use.last) += reach;
  }
  for (const DynamicIndex& index : operand.indices) {
    const std::int64_t reach = (index.size - 1) * index.bytes;
    (reach < 0 ? use.first : use.last) += reach;
  }
  return use;
}

Use use_of(const DynamicIndex& index, const std::vector<std::int64_t>& sizes) {
  return use_of(Access{index.slot, index.dtype, index.offset, index.strides}, sizes);
}

bool overlap(const std::vector<Use>& a, const std::vector<Use>& b) {
  return std::ranges::any_of(a, [&](const Use& one) {
    return std::ranges::any_of(b, [&](const Use& other) { return one.overlaps(other); });
  });
}

std::vector<std::int64_t> axes_of(const Nest& nest, const Reduction& reduction) {
  std::vector<std::int64_t> sizes = nest.sizes;
  sizes.insert(sizes.end(), reduction.sizes.begin(), reduction.sizes.end());
  return sizes;
}

}  // namespace scanloom::loopnest
