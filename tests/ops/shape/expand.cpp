#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> expand_samples() {
  return {
      {.name = "both_ways",
       .inputs = {f32({3, 1}, {0, 1, 2}), i64({3}, {2, 1, 4})},
       .outputs = {f32({2, 3, 4},
                       {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2})}},
      {.name = "smaller_shape",
       .inputs = {f32({2, 3}, {0, 1, 2, 3, 4, 5}), i64({1}, {1})},
       .outputs = {f32({2, 3}, {0, 1, 2, 3, 4, 5})}},
      {.name = "scalar", .inputs = {i64({}, {2}), i64({1}, {3})}, .outputs = {i64({3}, {2, 2, 2})}},
      {.name = "to_nothing",
       .inputs = {f32({3, 1}, {0, 1, 2}), i64({2}, {3, 0})},
       .outputs = {f32({3, 0}, {})}},
      {.name = "does_not_fit",
       .inputs = {f32({3}, {0, 1, 2}), i64({1}, {2})},
       .error = "sizes 3 and 2 on axis 0"},
  };
}

}  // namespace scanloom::ops
