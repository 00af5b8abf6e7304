#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> erf_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({2, 3}, {0.5, -1.25, 3, -0.75, 0.125, 0.001})},
       .outputs = {f32({2, 3},
                       {0.5204999, -0.92290014, 0.9999779, -0.71115565, 0.1403162, 0.0011283788})},
       .ulps = 2},
      {.name = "special_values",
       .inputs = {f32({6}, {0, -0.0, kInf, -kInf, kNan, 10})},
       .outputs = {f32({6}, {0, -0.0, 1, -1, kNan, 1})}},
      {.name = "f64",
       .inputs = {f64({3}, {0.5, -1.25, 3})},
       .outputs = {f64({3}, {0.5204998778130465, -0.9229001282564582, 0.9999779095030014})},
       .ulps = 2},
      {.name = "f16",
       .inputs = {floats(DType::f16, {2}, {0.5, 0.125})},
       .outputs = {floats(DType::f16, {2}, {0.5205078125, 0.1402587890625})},
       .ulps = 1},
      {.name = "empty", .inputs = {f32({2, 0}, {})}, .outputs = {f32({2, 0}, {})}},
  };
}

}  // namespace scanloom::ops
