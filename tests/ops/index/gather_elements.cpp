#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> gather_elements_samples() {
  return {
      {.name = "along_rows",
       .inputs = {f32({2, 3}, {0, 1, 2, 3, 4, 5}), i64({2, 3}, {0, -1, 1, 1, 0, 0})},
       .attrs = {{"axis", 0}},
       .outputs = {f32({2, 3}, {0, 4, 5, 3, 1, 2})}},
      {.name = "fewer_columns",
       .inputs = {f32({2, 3}, {0, 1, 2, 3, 4, 5}), i64({2, 2}, {2, 0, -3, 1})},
       .attrs = {{"axis", 1}},
       .outputs = {f32({2, 2}, {2, 0, 3, 4})}},
      {.name = "empty",
       .inputs = {f32({2, 3}, {0, 1, 2, 3, 4, 5}), i64({0, 3}, {})},
       .attrs = {{"axis", 0}},
       .outputs = {f32({0, 3}, {})}},
      {.name = "index_outside",
       .inputs = {f32({2, 3}, {0, 1, 2, 3, 4, 5}), i64({1, 1}, {3})},
       .attrs = {{"axis", 1}},
       .error = "index 3 is outside an axis of 3 elements"},
      {.name = "indices_too_wide",
       .inputs = {f32({2, 3}, {0, 1, 2, 3, 4, 5}), i64({1, 4}, {0, 0, 0, 0})},
       .attrs = {{"axis", 0}},
       .error = "indices has size 4 on axis 1, but data has 3"},
  };
}

}  // namespace scanloom::ops
