#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> round_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({2, 3}, {0.5, 1.5, 2.5, -2.5, -3.5, 1.25})},
       .outputs = {f32({2, 3}, {0, 2, 2, -2, -4, 1})}},
      {.name = "special_values",
       .inputs = {f32({8}, {0, -0.0, kInf, -kInf, kNan, -0.25, 8388609, 1e+10})},
       .outputs = {f32({8}, {0, -0.0, kInf, -kInf, kNan, -0.0, 8388609, 1e+10})}},
      {.name = "f64", .inputs = {f64({3}, {0.5, 1.5, 2.5})}, .outputs = {f64({3}, {0, 2, 2})}},
      {.name = "f16",
       .inputs = {floats(DType::f16, {2}, {0.5, 1.5})},
       .outputs = {floats(DType::f16, {2}, {0, 2})}},
      {.name = "empty", .inputs = {f32({2, 0}, {})}, .outputs = {f32({2, 0}, {})}},
  };
}

}  // namespace scanloom::ops
