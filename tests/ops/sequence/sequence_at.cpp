#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> sequence_at_samples() {
  return {
      {.name = "first",
       .inputs = {sequence({f32({2}, {1, 2}), f32({1}, {3})}), i64({}, {0})},
       .outputs = {f32({2}, {1, 2})}},
      {.name = "last",
       .inputs = {sequence({f32({2}, {1, 2}), f32({1}, {3})}), i32({}, {-1})},
       .outputs = {f32({1}, {3})}},
      {.name = "strings",
       .inputs = {sequence({strings({}, {"a"}), strings({}, {"b"})}), i64({1}, {1})},
       .outputs = {strings({}, {"b"})}},
      {.name = "a_sequence",
       .inputs = {sequence({sequence({f32({}, {1})})}), i64({}, {0})},
       .outputs = {sequence({f32({}, {1})})}},
      {.name = "position_outside",
       .inputs = {sequence({f32({}, {1}), f32({}, {2})}), i64({}, {2})},
       .error = "position 2 is outside [-2, 2)"},
      {.name = "position_far_outside",
       .inputs = {sequence({f32({}, {1})}), i64({}, {std::numeric_limits<std::int64_t>::min()})},
       .error = "is outside [-1, 1)"},
  };
}

}  // namespace scanloom::ops
