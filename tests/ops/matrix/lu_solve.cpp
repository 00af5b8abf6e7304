#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> lu_solve_samples() {
  // Factors of [[0, 2], [4, 1]].
  const Tensor lu = f64({2, 2}, {4, 1, 0, 2}), pivots = i64({2}, {1, 1});
  // Factors of [[1, 2], [4, 4]] and [[2, 0], [0, 2]].
  const Tensor two = f32({2, 2, 2}, {4, 4, 0.25, 1, 2, 0, 0, 2});
  const Tensor exchanged = i64({2, 2}, {1, 1, 0, 1});
  const std::vector<ir::NamedAttr> straight = {{"transposed", 0}}, across = {{"transposed", 1}};
  return {
      {.name = "column",
       .inputs = {lu, pivots, f64({2, 1}, {4, 6})},
       .attrs = straight,
       .outputs = {f64({2, 1}, {1, 2})}},
      {.name = "columns",
       .inputs = {lu, pivots, f64({2, 3}, {4, 0, 2, 6, 4, 1})},
       .attrs = straight,
       .outputs = {f64({2, 3}, {1, 1, 0, 2, 0, 1})}},
      {.name = "transposed",
       .inputs = {lu, pivots, f64({2, 1}, {8, 4})},
       .attrs = across,
       .outputs = {f64({2, 1}, {1, 2})}},
      {.name = "inverse",
       .inputs = {lu, pivots},
       .attrs = straight,
       .outputs = {f64({2, 2}, {-0.125, 0.25, 0.5, 0})}},
      {.name = "inverse_beside_the_matrix",
       .inputs = {lu, pivots, absent(), f64({2, 2}, {0, 2, 4, 1})},
       .attrs = across,
       .outputs = {f64({2, 2}, {-0.125, 0.5, 0.25, 0})}},
      {.name = "batch",
       .inputs = {two, exchanged, f32({2, 2, 1}, {5, 12, 6, 8})},
       .attrs = straight,
       .outputs = {f32({2, 2, 1}, {1, 2, 3, 4})}},
      {.name = "one_right_side_for_all",
       .inputs = {two, exchanged, f32({2, 1}, {8, 16})},
       .attrs = straight,
       .outputs = {f32({2, 2, 1}, {0, 4, 4, 8})}},
      {.name = "one_matrix_for_all",
       .inputs = {lu, pivots, f64({2, 2, 1}, {4, 6, 0, 4})},
       .attrs = straight,
       .outputs = {f64({2, 2, 1}, {1, 2, 1, 0})}},
      {.name = "no_columns",
       .inputs = {lu, pivots, f64({2, 0}, {})},
       .attrs = straight,
       .outputs = {f64({2, 0}, {})}},
      {.name = "empty_matrix",
       .inputs = {f64({0, 0}, {}), i64({0}, {}), f64({0, 2}, {})},
       .attrs = straight,
       .outputs = {f64({0, 2}, {})}},
      {.name = "singular",
       .inputs = {f64({2, 2}, {4, 1, 0, 0}), pivots, f64({2, 1}, {1, 1})},
       .attrs = straight,
       .error = "the matrix is singular: its pivot 1 is 0"},
      {.name = "one_of_a_batch_is_singular",
       .inputs = {f32({2, 1, 1}, {3, 0}), i64({2, 1}, {0, 0}), f32({2, 1, 1}, {1, 1})},
       .attrs = straight,
       .error = "a matrix is singular: pivot 0 of matrix 1 is 0"},
      {.name = "other_rows",
       .inputs = {lu, pivots, f64({3, 1}, {1, 1, 1})},
       .attrs = straight,
       .error = "the number of columns of the matrix, and of rows of b, has sizes 2 and 3"},
      {.name = "a_vector",
       .inputs = {lu, pivots, f64({2}, {1, 1})},
       .attrs = straight,
       .error = "b has 1 axes, two at least are needed"},
      {.name = "pivots_of_another_type",
       .inputs = {lu, i32({2}, {1, 1})},
       .attrs = straight,
       .error = "the pivots are i32, but must be i64"},
      {.name = "pivots_of_other_sizes",
       .inputs = {lu, i64({3}, {1, 1, 2})},
       .attrs = straight,
       .error = "an axis of the pivots, and of lu, has sizes 3 and 2"},
  };
}

}  // namespace scanloom::ops
