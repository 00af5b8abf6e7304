#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> constant_of_shape_samples() {
  return {
      {.name = "floats",
       .inputs = {i64({2}, {2, 3})},
       .attrs = {{"value", f32({1}, {1.5})}},
       .outputs = {f32({2, 3}, {1.5, 1.5, 1.5, 1.5, 1.5, 1.5})}},
      {.name = "integers",
       .inputs = {i64({1}, {3})},
       .attrs = {{"value", i64({1}, {7})}},
       .outputs = {i64({3}, {7, 7, 7})}},
      {.name = "scalar",
       .inputs = {i64({0}, {})},
       .attrs = {{"value", booleans({1}, {true})}},
       .outputs = {booleans({}, {true})}},
      {.name = "empty",
       .inputs = {i64({2}, {2, 0})},
       .attrs = {{"value", f32({1}, {0})}},
       .outputs = {f32({2, 0}, {})}},
      {.name = "negative",
       .inputs = {i64({2}, {2, -1})},
       .attrs = {{"value", f32({1}, {0})}},
       .error = "axis 1 of the result has size -1"},
      {.name = "too_large",
       .inputs = {i64({2}, {1099511627776, 1099511627776})},
       .attrs = {{"value", f32({1}, {0})}},
       .error = "more than 2^40 elements"},
  };
}

}  // namespace scanloom::ops
