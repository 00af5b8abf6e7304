#include "tests/ops/samples.h"

namespace scanloom::ops {

namespace {

std::vector<ir::NamedAttr> triangle(int lower, int transposed, int unit) {
  return {{"lower", lower}, {"transposed", transposed}, {"unit", unit}};
}

}  // namespace

std::vector<Sample> triangular_solve_samples() {
  const Tensor lower = f64({2, 2}, {2, kNan, 3, 4}), upper = f64({2, 2}, {2, 3, kNan, 4});
  const Tensor unit = f64({2, 2}, {kNan, 3, kNan, 0});
  return {
      {.name = "lower",
       .inputs = {lower, f64({2, 2}, {2, 4, 11, 6})},
       .attrs = triangle(1, 0, 0),
       .outputs = {f64({2, 2}, {1, 2, 2, 0})}},
      {.name = "lower_transposed",
       .inputs = {lower, f64({2, 1}, {8, 8})},
       .attrs = triangle(1, 1, 0),
       .outputs = {f64({2, 1}, {1, 2})}},
      {.name = "upper",
       .inputs = {upper, f64({2, 1}, {8, 8})},
       .attrs = triangle(0, 0, 0),
       .outputs = {f64({2, 1}, {1, 2})}},
      {.name = "upper_transposed",
       .inputs = {upper, f64({2, 1}, {2, 11})},
       .attrs = triangle(0, 1, 0),
       .outputs = {f64({2, 1}, {1, 2})}},
      {.name = "unit",
       .inputs = {unit, f64({2, 1}, {7, 2})},
       .attrs = triangle(0, 0, 1),
       .outputs = {f64({2, 1}, {1, 2})}},
      {.name = "broadcast",
       .inputs = {f32({2, 1, 1, 1}, {2, 4}), f32({3, 1, 1}, {4, 8, 12})},
       .attrs = triangle(1, 0, 0),
       .outputs = {f32({2, 3, 1, 1}, {2, 4, 6, 1, 2, 3})}},
      {.name = "empty",
       .inputs = {f32({0, 0}, {}), f32({0, 3}, {})},
       .attrs = triangle(1, 0, 0),
       .outputs = {f32({0, 3}, {})}},
      {.name = "singular",
       .inputs = {f32({2, 2}, {1, 0, 5, 0}), f32({2, 1}, {1, 1})},
       .attrs = triangle(1, 0, 0),
       .error = "the triangular matrix is singular: its pivot 1 is 0"},
      {.name = "other_rows",
       .inputs = {f32({2, 2}, {1, 0, 5, 1}), f32({1, 1}, {1})},
       .attrs = triangle(1, 0, 0),
       .error = "has sizes 2 and 1"},
      {.name = "other_batches",
       .inputs = {f32({2, 1, 1}, {1, 1}), f32({3, 1, 1}, {1, 1, 1})},
       .attrs = triangle(1, 0, 0),
       .error = "2 and 3"},
  };
}

}  // namespace scanloom::ops
