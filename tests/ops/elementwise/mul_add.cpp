#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> mul_add_samples() {
  return {
      {.name = "numbers",
       .inputs = {f32({3}, {1, -2, 3}), f32({3}, {4, 5, 0.5}), f32({3}, {10, 1, -1.5})},
       .outputs = {f32({3}, {14, -9, 0})}},
      {.name = "broadcast",
       .inputs = {f32({2, 1}, {1, 2}), f32({}, {3}), f32({2}, {10, 20})},
       .outputs = {f32({2, 2}, {13, 23, 16, 26})}},
      {.name = "special_values",
       .inputs = {f32({4}, {kInf, 0, kNan, -0.0}), f32({4}, {2, kInf, 1, 1}),
                  f32({4}, {1, 1, 1, -0.0})},
       .outputs = {f32({4}, {kInf, kNan, kNan, -0.0})}},
      {.name = "doubles",
       .inputs = {floats(DType::f64, {2}, {0.5, 3}), floats(DType::f64, {2}, {8, 3}),
                  floats(DType::f64, {2}, {1, -9})},
       .outputs = {floats(DType::f64, {2}, {5, 0})}},
      {.name = "empty",
       .inputs = {f32({0}, {}), f32({}, {2}), f32({}, {1})},
       .outputs = {f32({0}, {})}},
  };
}

}  // namespace scanloom::ops
