#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> leaky_relu_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({2, 3}, {0.5, -1.25, 3, -0.125, 0, -4})},
       .attrs = {{"alpha", 0.25}},
       .outputs = {f32({2, 3}, {0.5, -0.3125, 3, -0.03125, 0, -1})}},
      {.name = "special_values",
       .inputs = {f32({4}, {kInf, -kInf, kNan, -0.0})},
       .attrs = {{"alpha", 0.01}},
       .outputs = {f32({4}, {kInf, -kInf, kNan, -0.0})}},
      {.name = "f16",
       .inputs = {floats(DType::f16, {2}, {-2, 2})},
       .attrs = {{"alpha", 0.25}},
       .outputs = {floats(DType::f16, {2}, {-0.5, 2})}},
      {.name = "empty",
       .inputs = {f32({0}, {})},
       .attrs = {{"alpha", 0.01}},
       .outputs = {f32({0}, {})}},
  };
}

}  // namespace scanloom::ops
