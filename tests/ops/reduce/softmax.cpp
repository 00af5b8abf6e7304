#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> softmax_samples() {
  return {
      {.name = "last",
       .inputs = {f32({2, 3}, {1, 2, 3, -1, 0, 1000})},
       .attrs = {{"axis", -1}},
       .outputs = {f32({2, 3}, {0.09003057, 0.24472848, 0.66524094, 0, 0, 1})},
       .ulps = 4},
      {.name = "first",
       .inputs = {f32({2, 3}, {1, 2, 3, -1, 0, 1000})},
       .attrs = {{"axis", 0}},
       .outputs = {f32({2, 3}, {0.8807971, 0.8807971, 0, 0.11920292, 0.11920292, 1})},
       .ulps = 4},
      {.name = "doubles",
       .inputs = {f64({2, 3}, {1, 2, 3, -1, 0, 1000})},
       .attrs = {{"axis", 1}},
       .outputs = {f64({2, 3},
                       {0.09003057317038046, 0.24472847105479764, 0.6652409557748218, 0, 0, 1})},
       .ulps = 4},
      {.name = "half",
       .inputs = {floats(DType::f16, {4}, {0, 1, 2, 4})},
       .attrs = {{"axis", 0}},
       .outputs = {floats(DType::f16, {4},
                          {0.01522064208984375, 0.0413818359375, 0.1124267578125, 0.8310546875})},
       .ulps = 1},
      {.name = "single",
       .inputs = {f32({1}, {7})},
       .attrs = {{"axis", 0}},
       .outputs = {f32({1}, {1})}},
      {.name = "not_a_number",
       .inputs = {f32({2}, {1, kNan})},
       .attrs = {{"axis", 0}},
       .outputs = {f32({2}, {kNan, kNan})}},
      {.name = "infinite",
       .inputs = {f32({2}, {-kInf, 0})},
       .attrs = {{"axis", 0}},
       .outputs = {f32({2}, {0, 1})}},
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
