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
      {.name = "axis_outside",
       .inputs = {f32({2, 3}, {0, 1, 2, 3, 4, 5})},
       .attrs = {{"axes", std::vector<std::int64_t>{3}}},
       .error = "axis 3 is outside [-3, 3)"},
  };
}

}  // namespace scanloom::ops
