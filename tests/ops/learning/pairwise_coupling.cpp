#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> pairwise_coupling_samples() {
  return {
      // Of two classes, and where all pairs are even, the answer is known.
      {.name = "even",
       .inputs = {f64({1, 3, 3}, {0, 0.5, 0.5, 0.5, 0, 0.5, 0.5, 0.5, 0})},
       .outputs = {f64({1, 3}, {1.0 / 3, 1.0 / 3, 1.0 / 3})},
       .ulps = 4},
      {.name = "one_class", .inputs = {f32({1, 1, 1}, {0})}, .outputs = {f32({1, 1}, {1})}},
      {.name = "not_square",
       .inputs = {f32({1, 2, 3}, {0, 0, 0, 0, 0, 0})},
       .error = "r compares 2 classes with 3"},
      {.name = "two_axes", .inputs = {f32({1, 1}, {0})}, .error = "r has 2 axes, but must have 3"},
  };
}

}  // namespace scanloom::ops
