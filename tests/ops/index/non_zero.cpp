#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> non_zero_samples() {
  return {
      {.name = "matrix",
       .inputs = {f32({2, 2}, {1, 0, 2, 3})},
       .outputs = {i64({2, 3}, {0, 1, 1, 0, 0, 1})}},
      {.name = "special_values",
       .inputs = {f32({4}, {kNan, -0.0, kInf, 0})},
       .outputs = {i64({1, 2}, {0, 2})}},
      {.name = "booleans",
       .inputs = {booleans({3}, {false, true, true})},
       .outputs = {i64({1, 2}, {1, 2})}},
      {.name = "none", .inputs = {i32({2, 2}, {0, 0, 0, 0})}, .outputs = {i64({2, 0}, {})}},
      {.name = "empty", .inputs = {f32({0, 2}, {})}, .outputs = {i64({2, 0}, {})}},
      {.name = "texts",
       .inputs = {strings({2, 2}, {"", "a", " ", "0"})},
       .outputs = {i64({2, 3}, {0, 1, 1, 1, 0, 1})}},
      {.name = "scalar", .inputs = {f32({}, {5})}, .outputs = {i64({0, 1}, {})}},
  };
}

}  // namespace scanloom::ops
