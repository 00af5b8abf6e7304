#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> cholesky_samples() {
  const std::vector<ir::NamedAttr> lower = {{"lower", 1}}, upper = {{"lower", 0}};
  return {
      // The other triangle is not read.
      {.name = "lower",
       .inputs = {f64({3, 3}, {4, kNan, kNan, 2, 10, kNan, -4, 1, 9})},
       .attrs = lower,
       .outputs = {f64({3, 3}, {2, 0, 0, 1, 3, 0, -2, 1, 2})}},
      {.name = "upper",
       .inputs = {f64({3, 3}, {4, 2, -4, kNan, 10, 1, kNan, kNan, 9})},
       .attrs = upper,
       .outputs = {f64({3, 3}, {2, 1, -2, 0, 3, 1, 0, 0, 2})}},
      {.name = "batch",
       .inputs = {f32({2, 2, 2}, {1, 1, 1, 5, 9, 0, 0, 16})},
       .attrs = lower,
       .outputs = {f32({2, 2, 2}, {1, 0, 1, 2, 3, 0, 0, 4})}},
      {.name = "empty_matrix",
       .inputs = {f32({1, 0, 0}, {})},
       .attrs = lower,
       .outputs = {f32({1, 0, 0}, {})}},
      {.name = "no_matrices",
       .inputs = {f32({0, 2, 2}, {})},
       .attrs = upper,
       .outputs = {f32({0, 2, 2}, {})}},
      {.name = "negative_pivot",
       .inputs = {f64({2, 2}, {4, 2, 2, 0.5})},
       .attrs = lower,
       .error = "the matrix is not positive definite: its pivot 1 is -0.5"},
      {.name = "one_of_a_batch",
       .inputs = {f32({3, 1, 1}, {1, 4, 0})},
       .attrs = upper,
       .error = "a matrix is not positive definite: pivot 0 of matrix 2 is 0"},
      {.name = "not_a_number",
       .inputs = {f64({1, 1}, {kNan})},
       .attrs = lower,
       .error = "its pivot 0 is nan"},
      {.name = "not_square",
       .inputs = {f32({2, 3}, {0, 0, 0, 0, 0, 0})},
       .attrs = lower,
       .error = "x, whose matrices must be square, has sizes 2 and 3"},
  };
}

}  // namespace scanloom::ops
