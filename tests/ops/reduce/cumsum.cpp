#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> cumsum_samples() {
  return {
      {.name = "plain",
       .inputs = {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i64({}, {1})},
       .attrs = {{"exclusive", 0}, {"reverse", 0}},
       .outputs = {f32({2, 3}, {1, 3, 6, 4, 9, 15})}},
      {.name = "exclusive",
       .inputs = {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i64({}, {1})},
       .attrs = {{"exclusive", 1}, {"reverse", 0}},
       .outputs = {f32({2, 3}, {0, 1, 3, 0, 4, 9})}},
      {.name = "reverse",
       .inputs = {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i64({}, {1})},
       .attrs = {{"exclusive", 0}, {"reverse", 1}},
       .outputs = {f32({2, 3}, {6, 5, 3, 15, 11, 6})}},
      {.name = "both",
       .inputs = {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i64({}, {1})},
       .attrs = {{"exclusive", 1}, {"reverse", 1}},
       .outputs = {f32({2, 3}, {5, 3, 0, 11, 6, 0})}},
      {.name = "rows",
       .inputs = {i32({2, 2}, {0, 1, 2, 3}), i32({}, {-2})},
       .attrs = {{"exclusive", 0}, {"reverse", 0}},
       .outputs = {i32({2, 2}, {0, 1, 2, 4})}},
      {.name = "wraps",
       .inputs = {integers(DType::i8, {2}, {100, 100}), i64({}, {0})},
       .attrs = {{"exclusive", 0}, {"reverse", 0}},
       .outputs = {integers(DType::i8, {2}, {100, -56})}},
      {.name = "half_is_summed_in_f32",
       .inputs = {floats(DType::f16, {3}, {2048, 1, 1}), i64({}, {0})},
       .attrs = {{"exclusive", 0}, {"reverse", 0}},
       .outputs = {floats(DType::f16, {3}, {2048, 2048, 2050})}},
      {.name = "empty",
       .inputs = {f32({0, 2}, {}), i64({}, {0})},
       .attrs = {{"exclusive", 0}, {"reverse", 0}},
       .outputs = {f32({0, 2}, {})}},
      {.name = "axis_outside",
       .inputs = {f32({3}, {0, 1, 2}), i64({}, {1})},
       .attrs = {{"exclusive", 0}, {"reverse", 0}},
       .error = "axis 1 is outside [-1, 1)"},
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
