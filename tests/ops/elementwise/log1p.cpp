#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> log1p_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({2, 3}, {0.5, -0.25, 3, -0.9375, 10.5, 1e-10})},
       .outputs = {f32({2, 3}, {0.4054651081081644, -0.2876820724517809, 1.3862943611198906,
                                -2.772588722239781, 2.4423470353692043, 9.999999999500001e-11})},
       .ulps = 3},
      {.name = "special_values",
       .inputs = {f32({6}, {0, -0.0, kInf, -kInf, kNan, -1})},
       .outputs = {f32({6}, {0, -0.0, kInf, kNan, kNan, -kInf})}},
      {.name = "f64",
       .inputs = {f64({3}, {0.5, -0.25, 1e-10})},
       .outputs = {f64({3}, {0.4054651081081644, -0.2876820724517809, 9.999999999500001e-11})},
       .ulps = 3},
      {.name = "f16",
       .inputs = {floats(DType::f16, {2}, {0.5, -0.25})},
       .outputs = {floats(DType::f16, {2}, {0.405517578125, -0.28759765625})},
       .ulps = 1},
      {.name = "empty", .inputs = {f32({2, 0}, {})}, .outputs = {f32({2, 0}, {})}},
  };
}

}  // namespace scanloom::ops
