#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> sequence_split_samples() {
  return {
      {.name = "one_by_one",
       .inputs = {f32({2, 2}, {1, 2, 3, 4})},
       .attrs = {{"axis", 0}, {"keepdims", 1}},
       .outputs = {sequence({f32({1, 2}, {1, 2}), f32({1, 2}, {3, 4})})}},
      {.name = "dropping_the_axis",
       .inputs = {f32({2, 2}, {1, 2, 3, 4})},
       .attrs = {{"axis", -1}, {"keepdims", 0}},
       .outputs = {sequence({f32({2}, {1, 3}), f32({2}, {2, 4})})}},
      {.name = "the_last_is_smaller",
       .inputs = {i64({5}, {1, 2, 3, 4, 5}), i64({}, {2})},
       .attrs = {{"axis", 0}, {"keepdims", 0}},
       .outputs = {sequence({i64({2}, {1, 2}), i64({2}, {3, 4}), i64({1}, {5})})}},
      {.name = "listed_sizes",
       .inputs = {strings({3}, {"a", "b", "c"}), i32({3}, {1, 0, 2})},
       .attrs = {{"axis", 0}, {"keepdims", 1}},
       .outputs = {sequence({strings({1}, {"a"}), strings({0}, {}), strings({2}, {"b", "c"})})}},
      {.name = "nothing_to_split",
       .inputs = {f32({0, 2}, {})},
       .attrs = {{"axis", 0}, {"keepdims", 1}},
       .outputs = {empty_sequence(DType::f32)}},
      {.name = "sum_differs",
       .inputs = {f32({3}, {1, 2, 3}), i64({2}, {1, 1})},
       .attrs = {{"axis", 0}, {"keepdims", 1}},
       .error = "the parts have 2 elements, but the axis has 3"},
      {.name = "sum_overflows",
       .inputs = {f32({1}, {1}), i64({2}, {std::numeric_limits<std::int64_t>::max(),
                                           std::numeric_limits<std::int64_t>::max()})},
       .attrs = {{"axis", 0}, {"keepdims", 1}},
       .error = "the axis has 1"},
      {.name = "negative_part",
       .inputs = {f32({1}, {1}), i64({2}, {2, -1})},
       .attrs = {{"axis", 0}, {"keepdims", 1}},
       .error = "a part has size -1, but must have at least 0"},
      {.name = "parts_of_nothing",
       .inputs = {f32({1}, {1}), i64({}, {0})},
       .attrs = {{"axis", 0}, {"keepdims", 1}},
       .error = "parts of size 0, but at least 1 is needed"},
      {.name = "axis_outside",
       .inputs = {f32({1}, {1})},
       .attrs = {{"axis", 1}, {"keepdims", 1}},
       .error = "axis 1 is outside [-1, 1)"},
  };
}

}  // namespace scanloom::ops
