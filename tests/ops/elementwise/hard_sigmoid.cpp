#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> hard_sigmoid_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({2, 3}, {0.5, -1.25, 3, -0.125, 0, -4})},
       .attrs = {{"alpha", 0.25}, {"beta", 0.5}},
       .outputs = {f32({2, 3}, {0.625, 0.1875, 1, 0.46875, 0.5, 0})}},
      {.name = "special_values",
       .inputs = {f32({4}, {kInf, -kInf, kNan, -0.0})},
       .attrs = {{"alpha", 0.25}, {"beta", 0.5}},
       .outputs = {f32({4}, {1, 0, kNan, 0.5})}},
      {.name = "f64",
       .inputs = {f64({2}, {0.5, -9})},
       .attrs = {{"alpha", 0.25}, {"beta", 0.5}},
       .outputs = {f64({2}, {0.625, 0})}},
      {.name = "empty",
       .inputs = {f32({0, 2}, {})},
       .attrs = {{"alpha", 0.25}, {"beta", 0.5}},
       .outputs = {f32({0, 2}, {})}},
  };
}

}  // namespace scanloom::ops
