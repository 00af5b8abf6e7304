#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> dim_samples() {
  return {
      {.name = "first",
       .inputs = {f32({2, 3, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                  12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23})},
       .attrs = {{"axis", 0}},
       .outputs = {i64({}, {2})}},
      {.name = "last",
       .inputs = {f32({2, 3, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                  12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23})},
       .attrs = {{"axis", -1}},
       .outputs = {i64({}, {4})}},
      {.name = "empty",
       .inputs = {f32({0, 5}, {})},
       .attrs = {{"axis", 0}},
       .outputs = {i64({}, {0})}},
      {.name = "axis_outside",
       .inputs = {f32({2, 3, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                  12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23})},
       .attrs = {{"axis", 3}},
       .error = "axis 3 is outside [-3, 3)"},
  };
}

}  // namespace scanloom::ops
