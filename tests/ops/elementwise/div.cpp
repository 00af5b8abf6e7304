#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> div_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({2, 3}, {1, 2.5, -3, 0.125, 1e+10, -7}), f32({2, 3}, {4, -0.5, 2, 8, -1, 3})},
       .outputs = {f32({2, 3}, {0.25, -5, -1.5, 0.015625, -1e+10, -2.3333333})}},
      {.name = "broadcasting",
       .inputs = {f32({2, 1}, {3, -0.5}), f32({3}, {4, -0.5, 2})},
       .outputs = {f32({2, 3}, {0.75, -6, 1.5, -0.125, 1, -0.25})}},
      {.name = "broadcasting_both_ways",
       .inputs = {i32({2, 1, 2}, {1, 2, 3, 4}), i32({2, 1}, {5, -6})},
       .outputs = {i32({2, 2, 2}, {0, 0, 0, 0, 0, 0, 0, 0})}},
      {.name = "scalars", .inputs = {f64({}, {3}), f64({}, {0.1})}, .outputs = {f64({}, {30})}},
      {.name = "special_values",
       .inputs = {f32({7}, {1, -1, 0, kInf, 1, 5, kNan}), f32({7}, {0, 0, 0, kInf, -0.0, kInf, 1})},
       .outputs = {f32({7}, {kInf, -kInf, kNan, kNan, -kInf, 0, kNan})}},
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
       .outputs = {floats(DType::f16, {3}, {0.333251953125, 333.25, 1})}},
      {.name = "bf16",
       .inputs = {floats(DType::bf16, {3}, {0.10009765625, 1000, 3}),
                  floats(DType::bf16, {3}, {0.30078125, 3, 7})},
       .outputs = {floats(DType::bf16, {3}, {0.33203125, 334, 0.427734375})}},
      {.name = "integers_truncate",
       .inputs = {i32({6}, {-7, 7, 7, 0, -2147483648, 5}), i32({6}, {2, -2, 0, 0, -1, 1})},
       .outputs = {i32({6}, {-3, -3, 0, 0, -2147483648, 5})}},
      {.name = "unsigned",
       .inputs = {integers(DType::u64, {2}, {-1, 7}), integers(DType::u64, {2}, {2, 0})},
       .outputs = {integers(DType::u64, {2}, {9223372036854775807, 0})}},
  };
}

}  // namespace scanloom::ops
