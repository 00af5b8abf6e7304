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
