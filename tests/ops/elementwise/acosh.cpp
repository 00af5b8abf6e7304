#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> acosh_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({8}, {1, 1.0625, 1.5, 3, 100, 1000000, 0.5, -3})},
       .outputs = {f32({8}, {0, 0.3517373900432606, 0.9624236501192069, 1.762747174039086,
                             5.298292365610485, 14.508657738523969, kNan, kNan})},
       .ulps = 4},
      {.name = "special_values",
       .inputs = {f32({5}, {1, kInf, -kInf, kNan, 0})},
       .outputs = {f32({5}, {0, kInf, kNan, kNan, kNan})},
       .ulps = 1},
      {.name = "f64",
       .inputs = {f64({2, 3}, {1, 1.0625, 1.5, 3, 100, 1000000})},
       .outputs = {f64({2, 3}, {0, 0.3517373900432606, 0.9624236501192069, 1.762747174039086,
                                5.298292365610485, 14.508657738523969})},
       .ulps = 4},
      {.name = "f16",
       .inputs = {floats(DType::f16, {4}, {1, 1.0625, 1.5, 3})},
       .outputs = {floats(DType::f16, {4}, {0, 0.351806640625, 0.96240234375, 1.7626953125})},
       .ulps = 1},
      {.name = "empty", .inputs = {f32({2, 0}, {})}, .outputs = {f32({2, 0}, {})}},
  };
}

}  // namespace scanloom::ops
