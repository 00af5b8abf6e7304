#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> tile_samples() {
  return {
      {.name = "both_axes",
       .inputs = {f32({2, 2}, {0, 1, 2, 3}), i64({2}, {2, 3})},
       .outputs = {f32({4, 6},
                       {0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3})}},
      {.name = "nothing", .inputs = {f32({2}, {0, 1}), i64({1}, {0})}, .outputs = {f32({0}, {})}},
      {.name = "scalar", .inputs = {f32({}, {3}), i64({0}, {})}, .outputs = {f32({}, {3})}},
      {.name = "empty",
       .inputs = {f32({0, 2}, {}), i64({2}, {2, 2})},
       .outputs = {f32({0, 4}, {})}},
      {.name = "negative",
       .inputs = {f32({2}, {0, 1}), i64({1}, {-1})},
       .error = "axis 0 is repeated -1 times"},
      {.name = "wrong_count",
       .inputs = {f32({2}, {0, 1}), i64({2}, {1, 1})},
       .error = "2 repeats are given for 1 axes"},
  };
}

}  // namespace scanloom::ops
