#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> sqrt_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({2, 3}, {0.25, 2, 3, 1e-08, 10.5, 1e+30})},
       .outputs = {f32({2, 3}, {0.5, 1.4142135, 1.7320508, 1e-04, 3.2403703, 1e+15})}},
      {.name = "special_values",
       .inputs = {f32({6}, {0, -0.0, kInf, -kInf, kNan, -1})},
       .outputs = {f32({6}, {0, -0.0, kInf, kNan, kNan, kNan})}},
      {.name = "f64",
       .inputs = {f64({3}, {0.25, 2, 3})},
       .outputs = {f64({3}, {0.5, 1.4142135623730951, 1.7320508075688772})}},
      {.name = "f16",
       .inputs = {floats(DType::f16, {2}, {0.25, 10.5})},
       .outputs = {floats(DType::f16, {2}, {0.5, 3.240234375})}},
      {.name = "empty", .inputs = {f32({2, 0}, {})}, .outputs = {f32({2, 0}, {})}},
  };
}

}  // namespace scanloom::ops
