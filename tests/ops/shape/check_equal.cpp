#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> check_equal_samples() {
  return {
      {.name = "equal",
       .inputs = {i64({}, {4}), i64({}, {4})},
       .attrs = {{"text", "input 1 has {} steps, input 0 has {}"}},
       .outputs = {i64({}, {4})}},
      {.name = "zero",
       .inputs = {i64({}, {0}), i64({}, {0})},
       .attrs = {{"text", "input 1 has {} steps, input 0 has {}"}},
       .outputs = {i64({}, {0})}},
      {.name = "large",
       .inputs = {i64({}, {4611686018427387904}), i64({}, {4611686018427387904})},
       .attrs = {{"text", "input 1 has {} steps, input 0 has {}"}},
       .outputs = {i64({}, {4611686018427387904})}},
      {.name = "different",
       .inputs = {i64({}, {7}), i64({}, {9})},
       .attrs = {{"text", "input 1 has {} steps, input 0 has {}"}},
       .error = "input 1 has 7 steps, input 0 has 9"},
      {.name = "not_a_scalar",
       .inputs = {i64({1}, {7}), i64({}, {9})},
       .attrs = {{"text", "input 1 has {} steps, input 0 has {}"}},
       .error = "input 0 is i64[1], not i64[]"},
  };
}

}  // namespace scanloom::ops
