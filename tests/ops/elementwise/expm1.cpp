#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> expm1_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({2, 3}, {0.5, -0.25, 3, -20, 10.5, 1e-10})},
       .outputs = {f32({2, 3}, {0.6487212707001282, -0.22119921692859512, 19.085536923187668,
                                -0.9999999979388464, 36314.502674246636, 1.00000000005e-10})},
       .ulps = 3},
      {.name = "special_values",
       .inputs = {f32({6}, {0, -0.0, kInf, -kInf, kNan, 200})},
       .outputs = {f32({6}, {0, -0.0, kInf, -1, kNan, kInf})}},
      {.name = "f64",
       .inputs = {f64({3}, {0.5, -0.25, 1e-10})},
       .outputs = {f64({3}, {0.6487212707001282, -0.22119921692859512, 1.00000000005e-10})},
       .ulps = 3},
      {.name = "f16",
       .inputs = {floats(DType::f16, {2}, {0.5, -0.25})},
       .outputs = {floats(DType::f16, {2}, {0.64892578125, -0.22119140625})},
       .ulps = 1},
      {.name = "empty", .inputs = {f32({2, 0}, {})}, .outputs = {f32({2, 0}, {})}},
  };
}

}  // namespace scanloom::ops
