#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> unsqueeze_samples() {
  return {
      {.name = "two",
       .inputs = {f32({2, 3}, {0, 1, 2, 3, 4, 5})},
       .attrs = {{"axes", std::vector<std::int64_t>{-1, 1}}},
       .outputs = {f32({2, 1, 3, 1}, {0, 1, 2, 3, 4, 5})}},
      {.name = "scalar",
       .inputs = {i64({}, {5})},
       .attrs = {{"axes", std::vector<std::int64_t>{0}}},
       .outputs = {i64({1}, {5})}},
      {.name = "empty",
       .inputs = {f32({0}, {})},
       .attrs = {{"axes", std::vector<std::int64_t>{0}}},
       .outputs = {f32({1, 0}, {})}},
      {.name = "operand",
       .inputs = {f32({2, 3}, {0, 1, 2, 3, 4, 5}), i64({2}, {-1, 1})},
       .outputs = {f32({2, 1, 3, 1}, {0, 1, 2, 3, 4, 5})}},
      {.name = "scalar_by_operand",
       .inputs = {f32({}, {5}), i32({1}, {-1})},
       .outputs = {f32({1}, {5})}},
      {.name = "operand_outside",
       .inputs = {f32({}, {5}), i64({1}, {1})},
       .error = "axis 1 is outside [-1, 1)"},
      {.name = "operand_of_two_axes",
       .inputs = {f32({}, {5}), i64({1, 1}, {0})},
       .error = "input 1, the axes, has 2 axes itself"},
      {.name = "no_axes", .inputs = {f32({1}, {5})}, .error = "no axes are named"},
      {.name = "axis_outside",
       .inputs = {f32({2, 3}, {0, 1, 2, 3, 4, 5})},
       .attrs = {{"axes", std::vector<std::int64_t>{3}}},
       .error = "axis 3 is outside [-3, 3)"},
  };
}

}  // namespace scanloom::ops
