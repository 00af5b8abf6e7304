// Which types are 16-bit floating point.
#pragma once

#include <scanloom/dtype.h>

namespace scanloom::tensor {

/// f16 and bf16: computed in f32 and rounded after every node.
[[nodiscard]] constexpr bool is_half(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16;
}

}  // namespace scanloom::tensor
