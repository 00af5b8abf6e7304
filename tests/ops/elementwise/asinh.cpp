#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> asinh_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({6}, {-100, -1.25, -0.0625, 0.25, 3, 1000000})},
       .outputs = {f32({6}, {-5.298342365610589, -1.0475930126492587, -0.062459381255540306,
                             0.24746646154726346, 1.8184464592320668, 14.50865773852447})},
       .ulps = 4},
      {.name = "special_values",
       .inputs = {f32({5}, {0, -0.0, kInf, -kInf, kNan})},
       .outputs = {f32({5}, {0, -0.0, kInf, -kInf, kNan})},
       .ulps = 1},
      {.name = "f64",
       .inputs = {f64({2, 3}, {-100, -1.25, -0.0625, 0.25, 3, 1000000})},
       .outputs = {f64({2, 3}, {-5.298342365610589, -1.0475930126492587, -0.062459381255540306,
                                0.24746646154726346, 1.8184464592320668, 14.50865773852447})},
       .ulps = 4},
      {.name = "f16",
       .inputs = {floats(DType::f16, {4}, {-1.25, -0.0625, 0.25, 3})},
       .outputs = {floats(DType::f16, {4},
                          {-1.0478515625, -0.062469482421875, 0.2474365234375, 1.818359375})},
       .ulps = 1},
      {.name = "empty", .inputs = {f32({2, 0}, {})}, .outputs = {f32({2, 0}, {})}},
  };
}

}  // namespace scanloom::ops
