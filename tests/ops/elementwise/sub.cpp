#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> sub_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({2, 3}, {1, 2.5, -3, 0.125, 1e+10, -7}), f32({2, 3}, {4, -0.5, 2, 8, -1, 3})},
       .outputs = {f32({2, 3}, {-3, 3, -5, -7.875, 1e+10, -10})}},
      {.name = "broadcasting",
       .inputs = {f32({2, 1}, {3, -0.5}), f32({3}, {4, -0.5, 2})},
       .outputs = {f32({2, 3}, {-1, 3.5, 1, -4.5, 0, -2.5})}},
      {.name = "broadcasting_both_ways",
       .inputs = {i32({2, 1, 2}, {1, 2, 3, 4}), i32({2, 1}, {5, -6})},
       .outputs = {i32({2, 2, 2}, {-4, -3, 7, 8, -2, -1, 9, 10})}},
      {.name = "scalars", .inputs = {f64({}, {3}), f64({}, {0.1})}, .outputs = {f64({}, {2.9})}},
      {.name = "special_values",
       .inputs = {f32({6}, {kInf, kInf, kNan, -0.0, 0, -3e+38}),
                  f32({6}, {kInf, 1, 1, 0, 0, 3e+38})},
       .outputs = {f32({6}, {kNan, kInf, kNan, -0.0, 0, -kInf})}},
      {.name = "empty",
       .inputs = {f32({0, 3}, {}), f32({1, 3}, {1, 2, 3})},
       .outputs = {f32({0, 3}, {})}},
      {.name = "sizes_that_do_not_broadcast",
       .inputs = {f32({2, 3}, {0, 0, 0, 0, 0, 0}), f32({2}, {0, 0})},
       .error = "do not broadcast: sizes 3 and 2"},
      {.name = "element_types_that_differ",
       .inputs = {f32({1}, {0}), i64({1}, {0})},
       .error = "element types f32 and i64 cannot be combined"},
      {.name = "strings",
       .inputs = {strings({1}, {"a"}), strings({1}, {"b"})},
       .error = "not defined from element types string, string to string"},
      {.name = "f16",
       .inputs = {floats(DType::f16, {3}, {0.0999755859375, 1000, 60000}),
                  floats(DType::f16, {3}, {0.300048828125, 3, 60000})},
       .outputs = {floats(DType::f16, {3}, {-0.2000732421875, 997, 0})}},
      {.name = "bf16",
       .inputs = {floats(DType::bf16, {3}, {0.10009765625, 1000, 3}),
                  floats(DType::bf16, {3}, {0.30078125, 3, 7})},
       .outputs = {floats(DType::bf16, {3}, {-0.201171875, 996, -4})}},
      {.name = "u8_wraps",
       .inputs = {u8({2}, {0, 5}), u8({2}, {1, 3})},
       .outputs = {u8({2}, {255, 2})}},
      {.name = "i64_wraps",
       .inputs = {i64({1}, {INT64_MIN}), i64({1}, {1})},
       .outputs = {i64({1}, {9223372036854775807})}},
  };
}

}  // namespace scanloom::ops
