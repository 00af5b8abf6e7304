// What the kernels that fold or search lines of elements share.
#pragma once

#include <cstdint>

namespace scanloom::kernels {

/// An axis, with its strides in elements of the operand and the result.
struct LineAxis {
  std::int64_t size = 1, x = 0, y = 0;
};

/// The number of elements above which several threads pay.
inline constexpr std::int64_t kMinThreadedElements = 64 * 1024;

}  // namespace scanloom::kernels
