#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> identity_samples() {
  return {
      {.name = "f32",
       .inputs = {f32({2, 3}, {1, kNan, -0.0, kInf, 5, 6})},
       .outputs = {f32({2, 3}, {1, kNan, -0.0, kInf, 5, 6})}},
      {.name = "i64_vector", .inputs = {i64({2}, {5, -6})}, .outputs = {i64({2}, {5, -6})}},
      {.name = "boolean_scalar",
       .inputs = {booleans({}, {true})},
       .outputs = {booleans({}, {true})}},
      {.name = "strings",
       .inputs = {strings({2, 2}, {"a", "", "long enough to need the heap", "b"})},
       .outputs = {strings({2, 2}, {"a", "", "long enough to need the heap", "b"})}},
      {.name = "f16",
       .inputs = {floats(DType::f16, {2}, {1, 2})},
       .outputs = {floats(DType::f16, {2}, {1, 2})}},
      {.name = "empty", .inputs = {f32({2, 0}, {})}, .outputs = {f32({2, 0}, {})}},
  };
}

}  // namespace scanloom::ops
