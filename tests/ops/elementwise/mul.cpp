#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> mul_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({2, 3}, {1, 2.5, -3, 0.125, 1e+10, -7}), f32({2, 3}, {4, -0.5, 2, 8, -1, 3})},
       .outputs = {f32({2, 3}, {4, -1.25, -6, 1, -1e+10, -21})}},
      {.name = "broadcasting",
       .inputs = {f32({2, 1}, {3, -0.5}), f32({3}, {4, -0.5, 2})},
       .outputs = {f32({2, 3}, {12, -1.5, 6, -2, 0.25, -1})}},
      {.name = "broadcasting_both_ways",
       .inputs = {i32({2, 1, 2}, {1, 2, 3, 4}), i32({2, 1}, {5, -6})},
       .outputs = {i32({2, 2, 2}, {5, 10, -6, -12, 15, 20, -18, -24})}},
      {.name = "scalars",
       .inputs = {f64({}, {3}), f64({}, {0.1})},
       .outputs = {f64({}, {0.30000000000000004})}},
      {.name = "special_values",
       .inputs = {f32({6}, {kInf, kInf, kNan, -0.0, 1e+30, 1e-40}),
                  f32({6}, {0, -1, 1, 5, 1e+30, 0.5})},
       .outputs = {f32({6}, {kNan, -kInf, kNan, -0.0, kInf, 5e-41})}},
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
       .outputs = {floats(DType::f16, {3}, {0.029998779296875, 3000, kInf})}},
      {.name = "bf16",
       .inputs = {floats(DType::bf16, {3}, {0.10009765625, 1000, 3}),
                  floats(DType::bf16, {3}, {0.30078125, 3, 7})},
       .outputs = {floats(DType::bf16, {3}, {0.0301513671875, 3008, 21})}},
      {.name = "i32_wraps",
       .inputs = {i32({2}, {65536, -2147483648}), i32({2}, {65536, -1})},
       .outputs = {i32({2}, {0, -2147483648})}},
      {.name = "u16_wraps",
       .inputs = {integers(DType::u16, {1}, {65535}), integers(DType::u16, {1}, {65535})},
       .outputs = {integers(DType::u16, {1}, {1})}},
  };
}

}  // namespace scanloom::ops
