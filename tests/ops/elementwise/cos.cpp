#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> cos_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({2, 3}, {0.5, -1.25, 3, -20, 10.5, 0.001})},
       .outputs = {f32({2, 3},
                       {0.87758255, 0.31532237, -0.9899925, 0.40808207, -0.47553694, 0.9999995})},
       .ulps = 1},
      {.name = "special_values",
       .inputs = {f32({5}, {0, -0.0, kInf, -kInf, kNan})},
       .outputs = {f32({5}, {1, 1, kNan, kNan, kNan})}},
      {.name = "f64",
       .inputs = {f64({3}, {0.5, -1.25, 3})},
       .outputs = {f64({3}, {0.8775825618903728, 0.3153223623952687, -0.9899924966004454})},
       .ulps = 1},
      {.name = "f16",
       .inputs = {floats(DType::f16, {2}, {0.5, 10.5})},
       .outputs = {floats(DType::f16, {2}, {0.87744140625, -0.4755859375})},
       .ulps = 1},
      {.name = "empty", .inputs = {f32({2, 0}, {})}, .outputs = {f32({2, 0}, {})}},
  };
}

}  // namespace scanloom::ops
