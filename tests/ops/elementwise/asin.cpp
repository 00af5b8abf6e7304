#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> asin_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({8}, {-1, -0.75, -0.25, 0.125, 0.5, 1, 1.5, -2})},
       .outputs = {f32(
           {8}, {-1.5707963267948966, -0.848062078981481, -0.25268025514207865, 0.1253278311680654,
                 0.5235987755982989, 1.5707963267948966, kNan, kNan})},
       .ulps = 3},
      {.name = "special_values",
       .inputs = {f32({4}, {0, -0.0, kNan, -kInf})},
       .outputs = {f32({4}, {0, -0.0, kNan, kNan})},
       .ulps = 1},
      {.name = "f64",
       .inputs = {f64({2, 3}, {-1, -0.75, -0.25, 0.125, 0.5, 1})},
       .outputs = {f64({2, 3}, {-1.5707963267948966, -0.848062078981481, -0.25268025514207865,
                                0.1253278311680654, 0.5235987755982989, 1.5707963267948966})},
       .ulps = 3},
      {.name = "f16",
       .inputs = {floats(DType::f16, {4}, {-1, -0.75, -0.25, 0.125})},
       .outputs = {floats(DType::f16, {4},
                          {-1.5703125, -0.84814453125, -0.252685546875, 0.1253662109375})},
       .ulps = 1},
      {.name = "empty", .inputs = {f32({2, 0}, {})}, .outputs = {f32({2, 0}, {})}},
  };
}

}  // namespace scanloom::ops
