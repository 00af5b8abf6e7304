#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> gather_samples() {
  return {
      {.name = "rows",
       .inputs = {f32({3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), i64({2, 2}, {0, -1, 2, 0})},
       .attrs = {{"axis", 0}},
       .outputs = {f32({2, 2, 4}, {0, 1, 2, 3, 8, 9, 10, 11, 8, 9, 10, 11, 0, 1, 2, 3})}},
      {.name = "columns",
       .inputs = {f32({3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), i32({2}, {3, 1})},
       .attrs = {{"axis", -1}},
       .outputs = {f32({3, 2}, {3, 1, 7, 5, 11, 9})}},
      {.name = "scalar_index",
       .inputs = {f32({3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), i64({}, {1})},
       .attrs = {{"axis", 1}},
       .outputs = {f32({3}, {1, 5, 9})}},
      {.name = "no_indices",
       .inputs = {f32({3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), i64({0}, {})},
       .attrs = {{"axis", 1}},
       .outputs = {f32({3, 0}, {})}},
      {.name = "from_nothing",
       .inputs = {f32({0, 2}, {}), i64({0}, {})},
       .attrs = {{"axis", 0}},
       .outputs = {f32({0, 2}, {})}},
      {.name = "doubles",
       .inputs = {f64({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}), i64({1}, {1})},
       .attrs = {{"axis", 1}},
       .outputs = {f64({2, 1, 2}, {2, 3, 6, 7})}},
      {.name = "index_outside",
       .inputs = {f32({3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), i64({2}, {0, 3})},
       .attrs = {{"axis", 0}},
       .error = "index 3 is outside an axis of 3 elements"},
      {.name = "negative_index_outside",
       .inputs = {f32({3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), i64({1}, {-5})},
       .attrs = {{"axis", 1}},
       .error = "index -5 is outside an axis of 4 elements"},
  };
}

}  // namespace scanloom::ops
