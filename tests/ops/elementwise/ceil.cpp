#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> ceil_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({2, 3}, {0.5, -1.25, 3, -20.5, 1.0000001, 1e+10})},
       .outputs = {f32({2, 3}, {1, -1, 3, -20, 2, 1e+10})}},
      {.name = "special_values",
       .inputs = {f32({6}, {0, -0.0, kInf, -kInf, kNan, -0.25})},
       .outputs = {f32({6}, {0, -0.0, kInf, -kInf, kNan, -0.0})}},
      {.name = "f64", .inputs = {f64({3}, {0.5, -1.25, 3})}, .outputs = {f64({3}, {1, -1, 3})}},
      {.name = "f16",
       .inputs = {floats(DType::f16, {2}, {0.5, -1.25})},
       .outputs = {floats(DType::f16, {2}, {1, -1})}},
      {.name = "empty", .inputs = {f32({2, 0}, {})}, .outputs = {f32({2, 0}, {})}},
  };
}

}  // namespace scanloom::ops
