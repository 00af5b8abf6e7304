#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> pow_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({2, 2}, {2, 0.5, 3, 10}), f32({2, 2}, {3, 2, 0.5, -1})},
       .outputs = {f32({2, 2}, {8, 0.25, 1.7320508, 0.1})},
       .ulps = 1},
      {.name = "broadcasting",
       .inputs = {f32({2, 1}, {2, 3}), f32({3}, {0, 1, 2})},
       .outputs = {f32({2, 3}, {1, 2, 4, 1, 3, 9})},
       .ulps = 1},
      {.name = "special_values",
       .inputs = {f32({8}, {0, kNan, 1, -8, 0, kInf, -2, 2}),
                  f32({8}, {0, 0, kNan, 0.33333334, -1, -1, 3, kNan})},
       .outputs = {f32({8}, {1, 1, 1, kNan, kInf, 0, -8, kNan})}},
      {.name = "f64",
       .inputs = {f64({2}, {2, -3}), f64({2}, {10, 3})},
       .outputs = {f64({2}, {1024, -27})},
       .ulps = 1},
      {.name = "integers_wrap",
       .inputs = {i32({4}, {3, 2, -3, 7}), i32({4}, {21, 31, 3, 0})},
       .outputs = {i32({4}, {1870418611, -2147483648, -27, 1})}},
      {.name = "integers_of_different_widths",
       .inputs = {integers(DType::i8, {2}, {3, -1}), i64({2}, {5, 1099511627777})},
       .outputs = {integers(DType::i8, {2}, {-13, -1})}},
      {.name = "floats_to_whole_powers",
       .inputs = {f32({3}, {-1, 2, -2}), i64({3}, {16777217, -2, 3})},
       .outputs = {f32({3}, {-1, 0.25, -8})}},
      {.name = "integers_to_real_powers",
       .inputs = {i32({3}, {4, 1, 2}), f32({3}, {0.5, 5, 6})},
       .outputs = {i32({3}, {2, 1, 64})}},
      {.name = "f16_to_f32_powers",
       .inputs = {floats(DType::f16, {2}, {3, 2}), f32({2}, {2, -1})},
       .outputs = {floats(DType::f16, {2}, {9, 0.5})}},
      {.name = "empty",
       .inputs = {f32({0, 3}, {}), f32({3}, {1, 2, 3})},
       .outputs = {f32({0, 3}, {})}},
      {.name = "strings",
       .inputs = {f32({1}, {0}), strings({1}, {"a"})},
       .error = "not defined from element types f32, string to f32"},
  };
}

}  // namespace scanloom::ops
