#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> tanh_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({2, 3}, {0.5, -1.25, 3, -20, 0.0625, 0.001})},
       .outputs = {f32({2, 3},
                       {0.46211717, -0.84828365, 0.9950548, -1, 0.062418748, 0.0009999997})},
       .ulps = 2},
      {.name = "special_values",
       .inputs = {f32({6}, {0, -0.0, kInf, -kInf, kNan, 50})},
       .outputs = {f32({6}, {0, -0.0, 1, -1, kNan, 1})}},
      {.name = "f64",
       .inputs = {f64({3}, {0.5, -1.25, 3})},
       .outputs = {f64({3}, {0.46211715726000974, -0.8482836399575129, 0.9950547536867305})},
       .ulps = 2},
      {.name = "f16",
       .inputs = {floats(DType::f16, {2}, {0.5, 0.0625})},
       .outputs = {floats(DType::f16, {2}, {0.462158203125, 0.062408447265625})},
       .ulps = 1},
      {.name = "empty", .inputs = {f32({2, 0}, {})}, .outputs = {f32({2, 0}, {})}},
  };
}

}  // namespace scanloom::ops
