#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> elu_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({2, 3}, {0.5, -1.25, 3, -0.125, 0, -4})},
       .attrs = {{"alpha", 0.5}},
       .outputs = {f32({2, 3}, {0.5, -0.3567476, 3, -0.05875155, 0, -0.4908422})},
       .ulps = 4},
      {.name = "special_values",
       .inputs = {f32({4}, {kInf, -kInf, kNan, -0.0})},
       .attrs = {{"alpha", 2.0}},
       .outputs = {f32({4}, {kInf, -2, kNan, -0.0})}},
      {.name = "empty",
       .inputs = {f32({0}, {})},
       .attrs = {{"alpha", 1.0}},
       .outputs = {f32({0}, {})}},
  };
}

}  // namespace scanloom::ops
