#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> abs_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({2, 3}, {0.5, -1.25, 3, -20.5, 1e-40, -1e+30})},
       .outputs = {f32({2, 3}, {0.5, 1.25, 3, 20.5, 1e-40, 1e+30})}},
      {.name = "special_values",
       .inputs = {f32({5}, {0, -0.0, kInf, -kInf, kNan})},
       .outputs = {f32({5}, {0, 0, kInf, kInf, kNan})}},
      {.name = "f64", .inputs = {f64({3}, {0.5, -1.25, 3})}, .outputs = {f64({3}, {0.5, 1.25, 3})}},
      {.name = "f16",
       .inputs = {floats(DType::f16, {2}, {0.5, -1.25})},
       .outputs = {floats(DType::f16, {2}, {0.5, 1.25})}},
      {.name = "empty", .inputs = {f32({2, 0}, {})}, .outputs = {f32({2, 0}, {})}},
      {.name = "integers_wrap",
       .inputs = {integers(DType::i8, {4}, {-128, -127, 0, 5})},
       .outputs = {integers(DType::i8, {4}, {-128, 127, 0, 5})}},
      {.name = "unsigned", .inputs = {u8({2}, {200, 0})}, .outputs = {u8({2}, {200, 0})}},
  };
}

}  // namespace scanloom::ops
