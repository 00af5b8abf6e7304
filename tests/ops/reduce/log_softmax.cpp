#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> log_softmax_samples() {
  return {
      {.name = "last",
       .inputs = {f32({2, 3}, {1, 2, 3, -1, 0, 1000})},
       .attrs = {{"axis", -1}},
       .outputs = {f32({2, 3}, {-2.407606, -1.407606, -0.40760598, -1001, -1000, 0})},
       .ulps = 4},
      {.name = "first",
       .inputs = {f32({2, 3}, {1, 2, 3, -1, 0, 1000})},
       .attrs = {{"axis", 0}},
       .outputs = {f32({2, 3}, {-0.12692802, -0.12692802, -997, -2.126928, -2.126928, 0})},
       .ulps = 4},
      {.name = "doubles",
       .inputs = {f64({2, 3}, {1, 2, 3, -1, 0, 1000})},
       .attrs = {{"axis", 1}},
       .outputs = {f64({2, 3}, {-2.4076059644443806, -1.4076059644443804, -0.4076059644443804,
                                -1001, -1000, 0})},
       .ulps = 4},
      {.name = "half",
       .inputs = {floats(DType::f16, {4}, {0, 1, 2, 4})},
       .attrs = {{"axis", 0}},
       .outputs = {floats(DType::f16, {4},
                          {-4.18359375, -3.185546875, -2.185546875, -0.1851806640625})},
       .ulps = 1},
      {.name = "single",
       .inputs = {f32({1}, {7})},
       .attrs = {{"axis", 0}},
       .outputs = {f32({1}, {0})}},
      {.name = "not_a_number",
       .inputs = {f32({2}, {1, kNan})},
       .attrs = {{"axis", 0}},
       .outputs = {f32({2}, {kNan, kNan})}},
      {.name = "infinite",
       .inputs = {f32({2}, {-kInf, 0})},
       .attrs = {{"axis", 0}},
       .outputs = {f32({2}, {-kInf, 0})}},
      {.name = "empty",
       .inputs = {f32({2, 0}, {})},
       .attrs = {{"axis", 1}},
       .outputs = {f32({2, 0}, {})}},
      {.name = "axis_outside",
       .inputs = {f32({2, 3}, {1, 2, 3, -1, 0, 1000})},
       .attrs = {{"axis", 2}},
       .error = "axis 2 is outside [-2, 2)"},
  };
}

}  // namespace scanloom::ops
