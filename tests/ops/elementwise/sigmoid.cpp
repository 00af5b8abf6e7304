#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> sigmoid_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({2, 3}, {0.5, -1.25, 3, -20, 1.5, 0.001})},
       .outputs = {f32({2, 3},
                       {0.62245935, 0.22270013, 0.95257413, 2.0611537e-09, 0.8175745, 0.50025})},
       .ulps = 2},
      {.name = "special_values",
       .inputs = {f32({6}, {0, -0.0, kInf, -kInf, kNan, 200})},
       .outputs = {f32({6}, {0.5, 0.5, 1, 0, kNan, 1})}},
      {.name = "f64",
       .inputs = {f64({3}, {0.5, -1.25, 3})},
       .outputs = {f64({3}, {0.6224593312018546, 0.22270013882530884, 0.9525741268224334})},
       .ulps = 2},
      {.name = "f16",
       .inputs = {floats(DType::f16, {2}, {0.5, 1.5})},
       .outputs = {floats(DType::f16, {2}, {0.62255859375, 0.8173828125})},
       .ulps = 1},
      {.name = "empty", .inputs = {f32({2, 0}, {})}, .outputs = {f32({2, 0}, {})}},
  };
}

}  // namespace scanloom::ops
