#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> sign_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({2, 3}, {0.5, -1.25, 3, -20.5, 1e-40, -1e+30})},
       .outputs = {f32({2, 3}, {1, -1, 1, -1, 1, -1})}},
      {.name = "special_values",
       .inputs = {f32({4}, {0, kInf, -kInf, kNan})},
       .outputs = {f32({4}, {0, 1, -1, kNan})}},
      {.name = "f64", .inputs = {f64({3}, {0.5, -1.25, 3})}, .outputs = {f64({3}, {1, -1, 1})}},
      {.name = "f16",
       .inputs = {floats(DType::f16, {2}, {0.5, -1.25})},
       .outputs = {floats(DType::f16, {2}, {1, -1})}},
      {.name = "empty", .inputs = {f32({2, 0}, {})}, .outputs = {f32({2, 0}, {})}},
      {.name = "negative_zero", .inputs = {f32({1}, {-0.0})}, .outputs = {f32({1}, {0})}},
      {.name = "integers",
       .inputs = {i64({4}, {INT64_MIN, -1, 0, 9})},
       .outputs = {i64({4}, {-1, -1, 0, 1})}},
      {.name = "unsigned",
       .inputs = {integers(DType::u64, {2}, {-1, 0})},
       .outputs = {integers(DType::u64, {2}, {1, 0})}},
  };
}

}  // namespace scanloom::ops
