#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> transpose_samples() {
  return {
      {.name = "reversed",
       .inputs = {f32({2, 3, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                  12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23})},
       .outputs = {f32({4, 3, 2}, {0, 12, 4, 16, 8,  20, 1, 13, 5, 17, 9,  21,
                                   2, 14, 6, 18, 10, 22, 3, 15, 7, 19, 11, 23})}},
      {.name = "permuted",
       .inputs = {f32({2, 3, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                  12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23})},
       .attrs = {{"perm", std::vector<std::int64_t>{1, 2, 0}}},
       .outputs = {f32({3, 4, 2}, {0, 12, 1, 13, 2, 14, 3, 15, 4,  16, 5,  17,
                                   6, 18, 7, 19, 8, 20, 9, 21, 10, 22, 11, 23})}},
      {.name = "bytes",
       .inputs = {u8({2, 3}, {0, 1, 2, 3, 4, 5})},
       .attrs = {{"perm", std::vector<std::int64_t>{1, 0}}},
       .outputs = {u8({3, 2}, {0, 3, 1, 4, 2, 5})}},
      {.name = "scalar", .inputs = {f64({}, {1.5})}, .outputs = {f64({}, {1.5})}},
      {.name = "empty",
       .inputs = {f32({0, 2}, {})},
       .attrs = {{"perm", std::vector<std::int64_t>{1, 0}}},
       .outputs = {f32({2, 0}, {})}},
      {.name = "wrong_count",
       .inputs = {f32({2, 3, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                  12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23})},
       .attrs = {{"perm", std::vector<std::int64_t>{0, 1}}},
       .error = "perm names 2 axes, but the input has 3"},
      {.name = "counted_from_the_end",
       .inputs = {counted(DType::f32, {2, 3})},
       .attrs = {{"perm", std::vector<std::int64_t>{-1, 0}}},
       .error = "perm names axis -1, which is outside [0, 2)"},
      {.name = "axis_twice",
       .inputs = {counted(DType::f32, {2, 3})},
       .attrs = {{"perm", std::vector<std::int64_t>{1, 1}}},
       .error = "perm names axis 1 twice"},
      {.name = "axis_outside",
       .inputs = {counted(DType::f32, {2, 3})},
       .attrs = {{"perm", std::vector<std::int64_t>{0, 2}}},
       .error = "perm names axis 2, which is outside [0, 2)"},
  };
}

}  // namespace scanloom::ops
