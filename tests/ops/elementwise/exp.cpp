#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> exp_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({2, 3}, {0.5, -1.25, 3, -20, 10.5, 0.001})},
       .outputs = {f32({2, 3},
                       {1.6487212, 0.2865048, 20.085537, 2.0611537e-09, 36315.504, 1.0010005})},
       .ulps = 1},
      {.name = "special_values",
       .inputs = {f32({7}, {0, -0.0, kInf, -kInf, kNan, 100, -120})},
       .outputs = {f32({7}, {1, 1, kInf, 0, kNan, kInf, 0})}},
      {.name = "f64",
       .inputs = {f64({3}, {0.5, -1.25, 3})},
       .outputs = {f64({3}, {1.6487212707001282, 0.2865047968601901, 20.085536923187668})},
       .ulps = 1},
      {.name = "f16",
       .inputs = {floats(DType::f16, {2}, {0.5, 10.5})},
       .outputs = {floats(DType::f16, {2}, {1.6484375, 36320})},
       .ulps = 1},
      {.name = "empty", .inputs = {f32({2, 0}, {})}, .outputs = {f32({2, 0}, {})}},
  };
}

}  // namespace scanloom::ops
