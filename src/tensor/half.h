// Which types are halves.
#pragma once

#include <scanloom/dtype.h>

namespace scanloom::tensor {

/// Of 16 bits, computed in f32 and rounded after every node.
[[nodiscard]] constexpr bool is_half(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16;
}

}  // namespace scanloom::tensor
