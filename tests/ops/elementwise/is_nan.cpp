#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> is_nan_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({2, 2}, {0, kNan, 1, kInf})},
       .outputs = {booleans({2, 2}, {false, true, false, false})}},
      {.name = "f16",
       .inputs = {floats(DType::f16, {3}, {kNan, -kInf, 1})},
       .outputs = {booleans({3}, {true, false, false})}},
      {.name = "f64",
       .inputs = {f64({2}, {kNan, -kInf})},
       .outputs = {booleans({2}, {true, false})}},
      {.name = "empty", .inputs = {f32({0, 2}, {})}, .outputs = {booleans({0, 2}, {})}},
  };
}

}  // namespace scanloom::ops
