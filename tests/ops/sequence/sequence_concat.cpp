#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> sequence_concat_samples() {
  return {
      {.name = "rows",
       .inputs = {sequence({f32({1, 2}, {1, 2}), f32({2, 2}, {3, 4, 5, 6})})},
       .attrs = {{"axis", 0}, {"new_axis", 0}},
       .outputs = {f32({3, 2}, {1, 2, 3, 4, 5, 6})}},
      {.name = "columns",
       .inputs = {sequence({i64({2, 1}, {1, 4}), i64({2, 2}, {2, 3, 5, 6})})},
       .attrs = {{"axis", -1}, {"new_axis", 0}},
       .outputs = {i64({2, 3}, {1, 2, 3, 4, 5, 6})}},
      {.name = "stacked",
       .inputs = {sequence({f32({2}, {1, 2}), f32({2}, {3, 4})})},
       .attrs = {{"axis", 0}, {"new_axis", 1}},
       .outputs = {f32({2, 2}, {1, 2, 3, 4})}},
      {.name = "stacked_last",
       .inputs = {sequence({f32({2}, {1, 2}), f32({2}, {3, 4})})},
       .attrs = {{"axis", -1}, {"new_axis", 1}},
       .outputs = {f32({2, 2}, {1, 3, 2, 4})}},
      {.name = "scalars_stacked",
       .inputs = {sequence({strings({}, {"a"}), strings({}, {"b"})})},
       .attrs = {{"axis", 0}, {"new_axis", 1}},
       .outputs = {strings({2}, {"a", "b"})}},
      {.name = "with_no_elements",
       .inputs = {sequence({f32({0}, {}), f32({1}, {1})})},
       .attrs = {{"axis", 0}, {"new_axis", 0}},
       .outputs = {f32({1}, {1})}},
      {.name = "nothing",
       .inputs = {empty_sequence(DType::f32)},
       .attrs = {{"axis", 0}, {"new_axis", 0}},
       .error = "the sequence has 0 items"},
      {.name = "axis_outside",
       .inputs = {sequence({f32({2}, {1, 2})})},
       .attrs = {{"axis", 1}, {"new_axis", 0}},
       .error = "axis 1 is outside [-1, 1)"},
      {.name = "shapes_differ",
       .inputs = {sequence({f32({2}, {1, 2}), f32({1}, {3})})},
       .attrs = {{"axis", 0}, {"new_axis", 1}},
       .error = "item 1 has shape [1], but item 0 has [2]"},
      {.name = "ranks_differ",
       .inputs = {sequence({f32({2}, {1, 2}), f32({1, 1}, {3})})},
       .attrs = {{"axis", 0}, {"new_axis", 0}},
       .error = "item 1 has shape [1,1], but item 0 has [2]"},
      {.name = "of_sequences",
       .inputs = {sequence({sequence({f32({}, {1})})})},
       .attrs = {{"axis", 0}, {"new_axis", 0}},
       .error = "items must be tensors"},
  };
}

}  // namespace scanloom::ops
