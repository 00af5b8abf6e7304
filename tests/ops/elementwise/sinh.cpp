#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> sinh_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({6}, {-3, -1.25, -0.0625, 0.25, 2, 30})},
       .outputs = {f32({6}, {-10.017874927409903, -1.6019190803008256, -0.06254069805219183,
                             0.2526123168081683, 3.6268604078470186, 5343237290762.231})},
       .ulps = 3},
      {.name = "special_values",
       .inputs = {f32({6}, {0, -0.0, kInf, -kInf, kNan, -1000})},
       .outputs = {f32({6}, {0, -0.0, kInf, -kInf, kNan, -kInf})},
       .ulps = 1},
      {.name = "f64",
       .inputs = {f64({2, 3}, {-3, -1.25, -0.0625, 0.25, 2, 30})},
       .outputs = {f64({2, 3}, {-10.017874927409903, -1.6019190803008256, -0.06254069805219183,
                                0.2526123168081683, 3.6268604078470186, 5343237290762.231})},
       .ulps = 3},
      {.name = "f16",
       .inputs = {floats(DType::f16, {4}, {-3, -1.25, -0.0625, 0.25})},
       .outputs = {floats(DType::f16, {4},
                          {-10.015625, -1.6015625, -0.06256103515625, 0.252685546875})},
       .ulps = 1},
      {.name = "empty", .inputs = {f32({2, 0}, {})}, .outputs = {f32({2, 0}, {})}},
  };
}

}  // namespace scanloom::ops
