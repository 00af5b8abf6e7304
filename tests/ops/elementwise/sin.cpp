#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> sin_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({2, 3}, {0.5, -1.25, 3, -20, 10.5, 0.001})},
       .outputs = {f32({2, 3},
                       {0.47942555, -0.9489846, 0.14112, -0.9129453, -0.8796958, 0.0009999999})},
       .ulps = 1},
      {.name = "special_values",
       .inputs = {f32({5}, {0, -0.0, kInf, -kInf, kNan})},
       .outputs = {f32({5}, {0, -0.0, kNan, kNan, kNan})}},
      {.name = "f64",
       .inputs = {f64({3}, {0.5, -1.25, 3})},
       .outputs = {f64({3}, {0.479425538604203, -0.9489846193555862, 0.1411200080598672})},
       .ulps = 1},
      {.name = "f16",
       .inputs = {floats(DType::f16, {2}, {0.5, 10.5})},
       .outputs = {floats(DType::f16, {2}, {0.4794921875, -0.8798828125})},
       .ulps = 1},
      {.name = "empty", .inputs = {f32({2, 0}, {})}, .outputs = {f32({2, 0}, {})}},
  };
}

}  // namespace scanloom::ops
