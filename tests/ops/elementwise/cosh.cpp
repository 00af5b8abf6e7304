#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> cosh_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({6}, {-3, -1.25, -0.0625, 0.25, 2, 30})},
       .outputs = {f32({6}, {10.067661995777765, 1.8884238771610158, 1.0019537608656677,
                             1.0314130998795732, 3.7621956910836314, 5343237290762.231})},
       .ulps = 3},
      {.name = "special_values",
       .inputs = {f32({5}, {0, kInf, -kInf, kNan, 1000})},
       .outputs = {f32({5}, {1, kInf, kInf, kNan, kInf})},
       .ulps = 1},
      {.name = "f64",
       .inputs = {f64({2, 3}, {-3, -1.25, -0.0625, 0.25, 2, 30})},
       .outputs = {f64({2, 3}, {10.067661995777765, 1.8884238771610158, 1.0019537608656677,
                                1.0314130998795732, 3.7621956910836314, 5343237290762.231})},
       .ulps = 3},
      {.name = "f16",
       .inputs = {floats(DType::f16, {4}, {-3, -1.25, -0.0625, 0.25})},
       .outputs = {floats(DType::f16, {4}, {10.0703125, 1.888671875, 1.001953125, 1.03125})},
       .ulps = 1},
      {.name = "empty", .inputs = {f32({2, 0}, {})}, .outputs = {f32({2, 0}, {})}},
  };
}

}  // namespace scanloom::ops
