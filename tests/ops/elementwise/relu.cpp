#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> relu_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({2, 3}, {0.5, -1.25, 3, -20.5, 1e-40, -1e+30})},
       .outputs = {f32({2, 3}, {0.5, 0, 3, 0, 1e-40, 0})}},
      {.name = "special_values",
       .inputs = {f32({5}, {0, -0.0, kInf, -kInf, kNan})},
       .outputs = {f32({5}, {0, 0, kInf, 0, kNan})}},
      {.name = "f64", .inputs = {f64({3}, {0.5, -1.25, 3})}, .outputs = {f64({3}, {0.5, 0, 3})}},
      {.name = "f16",
       .inputs = {floats(DType::f16, {2}, {0.5, -1.25})},
       .outputs = {floats(DType::f16, {2}, {0.5, 0})}},
      {.name = "empty", .inputs = {f32({2, 0}, {})}, .outputs = {f32({2, 0}, {})}},
      {.name = "integers",
       .inputs = {i32({3}, {-2147483648, 7, 0})},
       .outputs = {i32({3}, {0, 7, 0})}},
  };
}

}  // namespace scanloom::ops
