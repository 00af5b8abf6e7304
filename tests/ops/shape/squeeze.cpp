#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> squeeze_samples() {
  return {
      {.name = "named",
       .inputs = {f32({1, 3, 1, 2}, {0, 1, 2, 3, 4, 5})},
       .attrs = {{"axes", std::vector<std::int64_t>{-2}}},
       .outputs = {f32({1, 3, 2}, {0, 1, 2, 3, 4, 5})}},
      {.name = "all",
       .inputs = {f32({1, 3, 1, 2}, {0, 1, 2, 3, 4, 5})},
       .outputs = {f32({3, 2}, {0, 1, 2, 3, 4, 5})}},
      {.name = "to_scalar",
       .inputs = {i64({1, 1}, {5})},
       .attrs = {{"axes", std::vector<std::int64_t>{0, 1}}},
       .outputs = {i64({}, {5})}},
      {.name = "empty",
       .inputs = {f32({1, 0}, {})},
       .attrs = {{"axes", std::vector<std::int64_t>{0}}},
       .outputs = {f32({0}, {})}},
      {.name = "operand",
       .inputs = {f32({1, 3, 1, 2}, {0, 1, 2, 3, 4, 5}), i64({2}, {-2, 0})},
       .outputs = {f32({3, 2}, {0, 1, 2, 3, 4, 5})}},
      {.name = "scalar_operand",
       .inputs = {f32({1, 3}, {0, 1, 2}), i32({}, {0})},
       .outputs = {f32({3}, {0, 1, 2})}},
      {.name = "operand_to_scalar",
       .inputs = {i64({1}, {5}), i64({1}, {0})},
       .outputs = {i64({}, {5})}},
      {.name = "empty_operand",
       .inputs = {f32({1, 2}, {0, 1}), i64({0}, {})},
       .outputs = {f32({1, 2}, {0, 1})}},
      {.name = "operand_outside",
       .inputs = {f32({1, 3}, {0, 1, 2}), i64({1}, {2})},
       .error = "axis 2 is outside [-2, 2)"},
      {.name = "given_twice",
       .inputs = {f32({1, 3}, {0, 1, 2}), i64({1}, {0})},
       .attrs = {{"axes", std::vector<std::int64_t>{0}}},
       .error = "the axes are given twice, as an attribute and as input 1"},
      {.name = "not_one",
       .inputs = {f32({1, 3}, {0, 1, 2})},
       .attrs = {{"axes", std::vector<std::int64_t>{1}}},
       .error = "axis 1 has size 3, not 1"},
      {.name = "named_twice",
       .inputs = {f32({1, 3}, {0, 1, 2})},
       .attrs = {{"axes", std::vector<std::int64_t>{0, -2}}},
       .error = "axis 0 is named twice"},
  };
}

}  // namespace scanloom::ops
