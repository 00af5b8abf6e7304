#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> argmax_samples() {
  return {
      {.name = "first",
       .inputs = {f32({2, 4}, {1, 3, 3, 2, 4, -1, 4, -1})},
       .attrs = {{"axis", 1}, {"keepdims", 1}, {"select_last_index", 0}},
       .outputs = {i64({2, 1}, {1, 0})}},
      {.name = "last",
       .inputs = {f32({2, 4}, {1, 3, 3, 2, 4, -1, 4, -1})},
       .attrs = {{"axis", 1}, {"keepdims", 0}, {"select_last_index", 1}},
       .outputs = {i64({2}, {2, 2})}},
      {.name = "columns",
       .inputs = {f32({2, 4}, {1, 3, 3, 2, 4, -1, 4, -1})},
       .attrs = {{"axis", -2}, {"keepdims", 0}, {"select_last_index", 0}},
       .outputs = {i64({4}, {1, 0, 1, 0})}},
      {.name = "not_a_number",
       .inputs = {f32({4}, {1, kNan, 3, kNan})},
       .attrs = {{"axis", 0}, {"keepdims", 1}, {"select_last_index", 0}},
       .outputs = {i64({1}, {1})}},
      {.name = "zeros_are_equal",
       .inputs = {f32({2}, {-0.0, 0})},
       .attrs = {{"axis", 0}, {"keepdims", 0}, {"select_last_index", 0}},
       .outputs = {i64({}, {0})}},
      {.name = "integers",
       .inputs = {integers(DType::i8, {3}, {-5, 7, 7})},
       .attrs = {{"axis", 0}, {"keepdims", 0}, {"select_last_index", 0}},
       .outputs = {i64({}, {1})}},
      {.name = "no_lines",
       .inputs = {f32({0, 2}, {})},
       .attrs = {{"axis", 1}, {"keepdims", 0}, {"select_last_index", 0}},
       .outputs = {i64({0}, {})}},
      {.name = "empty_line",
       .inputs = {f32({0, 2}, {})},
       .attrs = {{"axis", 0}, {"keepdims", 0}, {"select_last_index", 0}},
       .error = "axis 0 has size 0"},
  };
}

}  // namespace scanloom::ops
