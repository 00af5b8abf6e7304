#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> shape_samples() {
  return {
      {.name = "all",
       .inputs = {f32({2, 3, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                  12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23})},
       .attrs = {{"start", 0}},
       .outputs = {i64({3}, {2, 3, 4})}},
      {.name = "cut",
       .inputs = {f32({2, 3, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                  12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23})},
       .attrs = {{"start", -2}, {"end", -1}},
       .outputs = {i64({1}, {3})}},
      {.name = "limited",
       .inputs = {f32({2, 3, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                  12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23})},
       .attrs = {{"start", -9}, {"end", 9}},
       .outputs = {i64({3}, {2, 3, 4})}},
      {.name = "nothing",
       .inputs = {f32({2, 3, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                  12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23})},
       .attrs = {{"start", 2}, {"end", 1}},
       .outputs = {i64({0}, {})}},
      {.name = "scalar",
       .inputs = {f32({}, {1})},
       .attrs = {{"start", 0}},
       .outputs = {i64({0}, {})}},
      {.name = "of_empty",
       .inputs = {f32({0, 5}, {})},
       .attrs = {{"start", 0}},
       .outputs = {i64({2}, {0, 5})}},
  };
}

}  // namespace scanloom::ops
