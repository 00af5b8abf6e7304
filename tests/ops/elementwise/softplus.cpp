#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> softplus_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({2, 3}, {0.5, -1.25, 3, -20, 10.5, 0.001})},
       .outputs = {f32({2, 3},
                       {0.974077, 0.25192907, 3.0485873, 2.0611537e-09, 10.500028, 0.6936473})},
       .ulps = 2},
      {.name = "special_values",
       .inputs = {f32({4}, {kInf, -kInf, kNan, 200})},
       .outputs = {f32({4}, {kInf, 0, kNan, 200})}},
      {.name = "f64",
       .inputs = {f64({3}, {0.5, -1.25, 3})},
       .outputs = {f64({3}, {0.9740769841801067, 0.2519290813453729, 3.048587351573742})},
       .ulps = 2},
      {.name = "f16",
       .inputs = {floats(DType::f16, {2}, {0.5, 10.5})},
       .outputs = {floats(DType::f16, {2}, {0.97412109375, 10.5})},
       .ulps = 1},
      {.name = "empty", .inputs = {f32({2, 0}, {})}, .outputs = {f32({2, 0}, {})}},
  };
}

}  // namespace scanloom::ops
