#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> split_samples() {
  return {
      {.name = "equal",
       .inputs = {f32({6}, {0, 1, 2, 3, 4, 5})},
       .attrs = {{"axis", 0}},
       .outputs = {f32({2}, {0, 1}), f32({2}, {2, 3}), f32({2}, {4, 5})}},
      {.name = "smaller_last",
       .inputs = {f32({7}, {0, 1, 2, 3, 4, 5, 6})},
       .attrs = {{"axis", 0}},
       .outputs = {f32({3}, {0, 1, 2}), f32({3}, {3, 4, 5}), f32({1}, {6})}},
      {.name = "fewer_than_results",
       .inputs = {f32({2}, {0, 1})},
       .attrs = {{"axis", 0}},
       .outputs = {f32({1}, {0}), f32({1}, {1}), f32({0}, {})}},
      {.name = "given_sizes",
       .inputs = {f32({2, 3}, {0, 1, 2, 3, 4, 5}), i64({2}, {1, 2})},
       .attrs = {{"axis", -1}},
       .outputs = {f32({2, 1}, {0, 3}), f32({2, 2}, {1, 2, 4, 5})}},
      {.name = "empty_part",
       .inputs = {f32({2}, {0, 1}), i64({2}, {0, 2})},
       .attrs = {{"axis", 0}},
       .outputs = {f32({0}, {}), f32({2}, {0, 1})}},
      {.name = "negative_size",
       .inputs = {f32({2}, {0, 1}), i64({1}, {-1})},
       .attrs = {{"axis", 0}},
       .error = "part 0 has size -1, but must have at least 0"},
  };
}

}  // namespace scanloom::ops
