#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> lu_factor_samples() {
  return {
      {.name = "exchanges_rows",
       .inputs = {f32({2, 2}, {0, 2, 4, 1})},
       .outputs = {f32({2, 2}, {4, 1, 0, 2}), i64({2}, {1, 1})}},
      {.name = "three",
       .inputs = {f32({3, 3}, {2, 1, -1, 4, 3, 1, -2, 2, 2})},
       .outputs = {f32({3, 3}, {4, 3, 1, -0.5, 3.5, 2.5, 0.5, -0.14285715, -1.1428572}),
                   i64({3}, {1, 2, 2})},
       .ulps = 2},
      {.name = "the_first_of_equal_ones",
       .inputs = {f64({2, 2}, {-2, 4, 2, 8})},
       .outputs = {f64({2, 2}, {-2, 4, -1, 12}), i64({2}, {0, 1})}},
      {.name = "batch",
       .inputs = {f32({2, 1, 2, 2}, {1, 2, 4, 4, 2, 0, 0, 2})},
       .outputs = {f32({2, 1, 2, 2}, {4, 4, 0.25, 1, 2, 0, 0, 2}), i64({2, 1, 2}, {1, 1, 0, 1})}},
      {.name = "singular",
       .inputs = {f64({3, 3}, {0, 1, 2, 0, 3, 4, 0, 5, 6})},
       .outputs = {f64({3, 3}, {0, 1, 2, 0, 5, 6, 0, 0.6, 0.4}), i64({3}, {0, 2, 2})},
       .ulps = 8},
      {.name = "not_a_number",
       .inputs = {f64({2, 2}, {kNan, 1, 2, 3})},
       .outputs = {f64({2, 2}, {kNan, 1, kNan, kNan}), i64({2}, {0, 1})}},
      {.name = "empty_matrix",
       .inputs = {f32({2, 0, 0}, {})},
       .outputs = {f32({2, 0, 0}, {}), i64({2, 0}, {})}},
      {.name = "no_matrices",
       .inputs = {f64({0, 2, 2}, {})},
       .outputs = {f64({0, 2, 2}, {}), i64({0, 2}, {})}},
      {.name = "not_square",
       .inputs = {f32({2, 3}, {0, 0, 0, 0, 0, 0})},
       .error = "x, whose matrices must be square, has sizes 2 and 3"},
      {.name = "too_few_axes",
       .inputs = {f32({3}, {0, 0, 0})},
       .error = "x has 1 axes, two at least are needed"},
      {.name = "half",
       .inputs = {floats(DType::f16, {1, 1}, {1})},
       .error = "x holds f16, but must hold f32 or f64"},
  };
}

}  // namespace scanloom::ops
