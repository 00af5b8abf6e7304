#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> max_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({2, 3}, {1, 2.5, -3, 0.125, 1e+10, -7}), f32({2, 3}, {4, -0.5, 2, 8, -1, 3})},
       .outputs = {f32({2, 3}, {4, 2.5, 2, 8, 1e+10, 3})}},
      {.name = "broadcasting",
       .inputs = {f32({2, 1}, {3, -0.5}), f32({3}, {4, -0.5, 2})},
       .outputs = {f32({2, 3}, {4, 3, 3, 4, -0.5, 2})}},
      {.name = "broadcasting_both_ways",
       .inputs = {i32({2, 1, 2}, {1, 2, 3, 4}), i32({2, 1}, {5, -6})},
       .outputs = {i32({2, 2, 2}, {5, 5, 1, 2, 5, 5, 3, 4})}},
      {.name = "scalars", .inputs = {f64({}, {3}), f64({}, {0.1})}, .outputs = {f64({}, {3})}},
      {.name = "special_values",
       .inputs = {f32({6}, {kNan, 1, -0.0, 0, kInf, -kInf}),
                  f32({6}, {1, kNan, 0, -0.0, -kInf, -1})},
       .outputs = {f32({6}, {kNan, kNan, 0, 0, kInf, -1})}},
      {.name = "empty",
       .inputs = {f32({0, 3}, {}), f32({1, 3}, {1, 2, 3})},
       .outputs = {f32({0, 3}, {})}},
      {.name = "sizes_that_do_not_broadcast",
       .inputs = {f32({2, 3}, {0, 0, 0, 0, 0, 0}), f32({2}, {0, 0})},
       .error = "do not broadcast: sizes 3 and 2"},
      {.name = "element_types_that_differ",
       .inputs = {f32({1}, {0}), i64({1}, {0})},
       .error = "element types f32 and i64 cannot be combined"},
      {.name = "strings",
       .inputs = {strings({1}, {"a"}), strings({1}, {"b"})},
       .error = "not defined from element types string, string to string"},
      {.name = "integers",
       .inputs = {i64({2}, {INT64_MIN, 3}), i64({2}, {1, -3})},
       .outputs = {i64({2}, {1, 3})}},
      {.name = "unsigned",
       .inputs = {u8({2}, {200, 3}), u8({2}, {100, 4})},
       .outputs = {u8({2}, {200, 4})}},
  };
}

}  // namespace scanloom::ops
