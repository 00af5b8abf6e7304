#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> lu_det_samples() {
  return {
      {.name = "exchanged",
       .inputs = {f64({2, 2}, {4, 1, 0, 2}), i64({2}, {1, 1})},
       .outputs = {f64({}, {-8}), f64({}, {-1}), f64({}, {2.0794415416798357})},
       .ulps = 2},
      {.name = "beside_the_matrix",
       .inputs = {f64({2, 2}, {4, 1, 0, 2}), i64({2}, {1, 1}), f64({2, 2}, {0, 2, 4, 1})},
       .outputs = {f64({}, {-8}), f64({}, {-1}), f64({}, {2.0794415416798357})},
       .ulps = 2},
      {.name = "batch",
       .inputs = {f32({2, 1, 2, 2}, {1, 2, 0.5, -1, 2, 9, 0, 0.5}), i64({2, 1, 2}, {0, 1, 0, 1})},
       .outputs = {f32({2, 1}, {-1, 1}), f32({2, 1}, {-1, 1}), f32({2, 1}, {0, 0})},
       .ulps = 2},
      {.name = "singular",
       .inputs = {f32({2, 2}, {2, 4, 0.5, 0}), i64({2}, {1, 1})},
       .outputs = {f32({}, {0}), f32({}, {0}), f32({}, {-kInf})}},
      {.name = "not_a_number",
       .inputs = {f32({1, 1}, {kNan}), i64({1}, {0})},
       .outputs = {f32({}, {kNan}), f32({}, {kNan}), f32({}, {kNan})}},
      {.name = "empty_matrix",
       .inputs = {f32({2, 0, 0}, {}), i64({2, 0}, {})},
       .outputs = {f32({2}, {1, 1}), f32({2}, {1, 1}), f32({2}, {0, 0})}},
      {.name = "no_matrices",
       .inputs = {f32({0, 2, 2}, {}), i64({0, 2}, {})},
       .outputs = {f32({0}, {}), f32({0}, {}), f32({0}, {})}},
      {.name = "not_square",
       .inputs = {f32({1, 2}, {1, 2}), i64({1}, {0})},
       .error = "lu, whose matrices must be square, has sizes 1 and 2"},
      {.name = "pivots_without_an_axis",
       .inputs = {f32({1, 1}, {1}), i64({}, {0})},
       .error = "the pivots have 0 axes, and lu 2, not one more"},
  };
}

}  // namespace scanloom::ops
