#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> det_samples() {
  return {
      {.name = "matrix",
       .inputs = {f32({2, 2}, {0, 2, 4, 1})},
       .outputs = {f32({}, {-8}), f32({2, 2}, {4, 1, 0, 2})}},
      {.name = "three",
       .inputs = {f32({3, 3}, {2, 1, -1, 4, 3, 1, -2, 2, 2})},
       .outputs = {f32({}, {-16}), f32({3, 3}, {4, 3, 1, 2, 3.5, 2.5, -2, -0.5, -1.1428572})},
       .ulps = 8},
      {.name = "batch",
       .inputs = {f32({2, 1, 2, 2}, {1, 2, 3, 4, 2, 0, 0, 2})},
       .outputs = {f32({2, 1}, {-2, 4}), f32({2, 1, 2, 2}, {3, 4, 1, 0.6666667, 2, 0, 0, 2})},
       .ulps = 8},
      {.name = "singular",
       .inputs = {f32({2, 2}, {1, 2, 2, 4})},
       .outputs = {f32({}, {0}), f32({2, 2}, {2, 4, 1, 0})}},
      {.name = "doubles",
       .inputs = {f64({3, 3}, {1, 2, 3, 0, 1, 4, 5, 6, 0})},
       .outputs = {f64({}, {0.9999999999999964}),
                   f64({3, 3}, {5, 6, 0, 0, 1, 4, 1, 0.7999999999999998, -0.1999999999999993})},
       .ulps = 8},
      {.name = "half",
       .inputs = {reals(DType::f16, {2, 2}, {1, 2, 3, 4})},
       .outputs = {reals(DType::f16, {}, {-2}), f32({2, 2}, {3, 4, 1, 0.6666667})},
       .ulps = 8},
      {.name = "empty_matrix",
       .inputs = {f32({2, 0, 0}, {})},
       .outputs = {f32({2}, {1, 1}), f32({2, 0, 0}, {})}},
      {.name = "no_matrices",
       .inputs = {f32({0, 2, 2}, {})},
       .outputs = {f32({0}, {}), f32({0, 2, 2}, {})}},
      {.name = "not_square",
       .inputs = {f32({2, 3}, {0, 0, 0, 0, 0, 0})},
       .error = "a matrix of x has sizes 2 and 3"},
      {.name = "too_few_axes",
       .inputs = {f32({3}, {0, 0, 0})},
       .error = "x has 1 axes, two at least are needed"},
  };
}

}  // namespace scanloom::ops
