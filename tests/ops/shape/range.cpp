#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> range_samples() {
  return {
      {.name = "up",
       .inputs = {i64({}, {1}), i64({}, {8}), i64({}, {3})},
       .outputs = {i64({3}, {1, 4, 7})}},
      {.name = "down",
       .inputs = {i32({}, {3}), i32({}, {-2}), i32({}, {-2})},
       .outputs = {i32({3}, {3, 1, -1})}},
      {.name = "floats",
       .inputs = {f32({}, {1}), f32({}, {2}), f32({}, {0.25})},
       .outputs = {f32({4}, {1, 1.25, 1.5, 1.75})}},
      {.name = "nothing",
       .inputs = {i64({}, {5}), i64({}, {5}), i64({}, {1})},
       .outputs = {i64({0}, {})}},
      {.name = "wrong_way",
       .inputs = {f64({}, {5}), f64({}, {9}), f64({}, {-1})},
       .outputs = {f64({0}, {})}},
      {.name = "step_of_zero",
       .inputs = {i64({}, {5}), i64({}, {9}), i64({}, {0})},
       .error = "do not give a finite number"},
      {.name = "not_a_number",
       .inputs = {f32({}, {0}), f32({}, {kNan}), f32({}, {1})},
       .error = "do not give a finite number"},
      {.name = "whole_range",
       .inputs = {i64({}, {std::numeric_limits<std::int64_t>::min()}),
                  i64({}, {std::numeric_limits<std::int64_t>::max()}),
                  i64({}, {4611686018427387904})},
       .outputs = {i64({4}, {std::numeric_limits<std::int64_t>::min(), -4611686018427387904, 0,
                             4611686018427387904})}},
  };
}

}  // namespace scanloom::ops
