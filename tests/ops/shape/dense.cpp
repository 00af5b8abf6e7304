#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> dense_samples() {
  return {
      {.name = "f32",
       .inputs = {f32({2, 3}, {1, kNan, -0.0, kInf, 5, 6})},
       .outputs = {f32({2, 3}, {1, kNan, -0.0, kInf, 5, 6})}},
      {.name = "i64_vector", .inputs = {i64({2}, {5, -6})}, .outputs = {i64({2}, {5, -6})}},
      {.name = "scalar", .inputs = {f64({}, {1.5})}, .outputs = {f64({}, {1.5})}},
      {.name = "f16",
       .inputs = {floats(DType::f16, {2}, {1, 2})},
       .outputs = {floats(DType::f16, {2}, {1, 2})}},
      {.name = "empty", .inputs = {f32({2, 0}, {})}, .outputs = {f32({2, 0}, {})}},
  };
}

}  // namespace scanloom::ops
