#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> log_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({2, 3}, {0.5, 1.25, 3, 20, 10.5, 0.001})},
       .outputs = {f32({2, 3},
                       {-0.6931472, 0.22314355, 1.0986123, 2.9957323, 2.3513753, -6.9077554})},
       .ulps = 1},
      {.name = "special_values",
       .inputs = {f32({7}, {0, -0.0, kInf, -kInf, kNan, 1, -1})},
       .outputs = {f32({7}, {-kInf, -kInf, kInf, kNan, kNan, 0, kNan})}},
      {.name = "f64",
       .inputs = {f64({3}, {0.5, 1.25, 3})},
       .outputs = {f64({3}, {-0.6931471805599453, 0.22314355131420976, 1.0986122886681098})},
       .ulps = 1},
      {.name = "f16",
       .inputs = {floats(DType::f16, {2}, {0.5, 10.5})},
       .outputs = {floats(DType::f16, {2}, {-0.693359375, 2.3515625})},
       .ulps = 1},
      {.name = "empty", .inputs = {f32({2, 0}, {})}, .outputs = {f32({2, 0}, {})}},
  };
}

}  // namespace scanloom::ops
