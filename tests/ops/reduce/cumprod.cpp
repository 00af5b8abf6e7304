#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> cumprod_samples() {
  return {
      {.name = "rows",
       .inputs = {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i64({}, {0})},
       .attrs = {{"exclusive", 0}, {"reverse", 0}},
       .outputs = {f32({2, 3}, {1, 2, 3, 4, 10, 18})}},
      {.name = "columns",
       .inputs = {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i64({}, {-1})},
       .attrs = {{"exclusive", 0}, {"reverse", 0}},
       .outputs = {f32({2, 3}, {1, 2, 6, 4, 20, 120})}},
      {.name = "exclusive",
       .inputs = {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i64({}, {1})},
       .attrs = {{"exclusive", 1}, {"reverse", 0}},
       .outputs = {f32({2, 3}, {1, 1, 2, 1, 4, 20})}},
      {.name = "reverse",
       .inputs = {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i64({}, {1})},
       .attrs = {{"exclusive", 0}, {"reverse", 1}},
       .outputs = {f32({2, 3}, {6, 6, 3, 120, 30, 6})}},
      {.name = "reverse_exclusive",
       .inputs = {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i32({1}, {1})},
       .attrs = {{"exclusive", 1}, {"reverse", 1}},
       .outputs = {f32({2, 3}, {6, 3, 1, 30, 6, 1})}},
      {.name = "integers_wrap",
       .inputs = {i32({3}, {1048576, 1048576, 3}), i64({}, {0})},
       .attrs = {{"exclusive", 0}, {"reverse", 0}},
       .outputs = {i32({3}, {1048576, 0, 0})}},
      {.name = "empty",
       .inputs = {f32({0, 2}, {}), i64({}, {0})},
       .attrs = {{"exclusive", 0}, {"reverse", 0}},
       .outputs = {f32({0, 2}, {})}},
      {.name = "axis_outside",
       .inputs = {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i64({}, {2})},
       .attrs = {{"exclusive", 0}, {"reverse", 0}},
       .error = "axis 2 is outside [-2, 2)"},
      {.name = "axis_of_two_axes",
       .inputs = {f32({3}, {0, 1, 2}), i64({1, 1}, {0})},
       .attrs = {{"exclusive", 0}, {"reverse", 0}},
       .error = "axis is a tensor of 2 axes, not 1"},
      {.name = "no_axis",
       .inputs = {f32({3}, {0, 1, 2}), i64({0, 1}, {})},
       .attrs = {{"exclusive", 0}, {"reverse", 0}},
       .error = "axis is a tensor of 2 axes, not 1"},
  };
}

}  // namespace scanloom::ops
