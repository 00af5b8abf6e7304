#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> acos_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({8}, {-1, -0.75, -0.25, 0.125, 0.5, 1, 1.5, -2})},
       .outputs = {f32({8}, {3.141592653589793, 2.4188584057763776, 1.8234765819369754,
                             1.4454684956268313, 1.0471975511965979, 0, kNan, kNan})},
       .ulps = 3},
      {.name = "special_values",
       .inputs = {f32({4}, {0, -0.0, kNan, kInf})},
       .outputs = {f32({4}, {1.5707963267948966, 1.5707963267948966, kNan, kNan})},
       .ulps = 1},
      {.name = "f64",
       .inputs = {f64({2, 3}, {-1, -0.75, -0.25, 0.125, 0.5, 1})},
       .outputs = {f64({2, 3}, {3.141592653589793, 2.4188584057763776, 1.8234765819369754,
                                1.4454684956268313, 1.0471975511965979, 0})},
       .ulps = 3},
      {.name = "f16",
       .inputs = {floats(DType::f16, {4}, {-1, -0.75, -0.25, 0.125})},
       .outputs = {floats(DType::f16, {4}, {3.140625, 2.41796875, 1.8232421875, 1.4453125})},
       .ulps = 1},
      {.name = "empty", .inputs = {f32({2, 0}, {})}, .outputs = {f32({2, 0}, {})}},
  };
}

}  // namespace scanloom::ops
