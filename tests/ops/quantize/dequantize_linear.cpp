#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> dequantize_linear_samples() {
  return {
      {.name = "bytes",
       .inputs = {u8({4}, {0, 3, 128, 255}), f32({}, {2}), u8({}, {128})},
       .attrs = {{"axis", 0}},
       .outputs = {f32({4}, {-256, -250, 0, 254})}},
      {.name = "per_axis",
       .inputs = {u8({1, 2, 3}, {3, 89, 34, 200, 74, 59}), f32({2}, {2, 4}), u8({2}, {84, 24})},
       .attrs = {{"axis", 1}},
       .outputs = {f32({1, 2, 3}, {-162, 10, -100, 704, 200, 140})}},
      {.name = "without_zero",
       .inputs = {integers(DType::i8, {2}, {-128, 127}), f32({}, {0.1})},
       .attrs = {{"axis", 0}},
       .outputs = {f32({2}, {-12.8, 12.7})}},
      {.name = "words",
       .inputs = {integers(DType::i16, {2}, {-32768, 5}), f32({}, {0.5}),
                  integers(DType::i16, {}, {32767})},
       .attrs = {{"axis", 0}},
       .outputs = {f32({2}, {-32767.5, -16381})}},
      {.name = "integers",
       .inputs = {i32({2}, {16777217, -3}), f32({}, {0.5})},
       .attrs = {{"axis", 0}},
       .outputs = {f32({2}, {8388608, -1.5})}},
      {.name = "half",
       .inputs = {integers(DType::i8, {2}, {3, -7}), floats(DType::f16, {}, {0.0999755859375}),
                  integers(DType::i8, {}, {1})},
       .attrs = {{"axis", 0}},
       .outputs = {floats(DType::f16, {2}, {0.199951171875, -0.7998046875})}},
      {.name = "one_scale_in_a_vector",
       .inputs = {u8({3}, {1, 2, 3}), f32({1}, {0.5})},
       .attrs = {{"axis", 0}},
       .outputs = {f32({3}, {0.5, 1, 1.5})}},
      {.name = "from_f8",
       .inputs = {floats(DType::f8e4m3fn, {3}, {1, -448, 0.0625}), f32({}, {2})},
       .attrs = {{"axis", 0}},
       .outputs = {f32({3}, {2, -896, 0.125})}},
      {.name = "empty",
       .inputs = {u8({0, 2}, {}), f32({}, {1})},
       .attrs = {{"axis", 0}},
       .outputs = {f32({0, 2}, {})}},
      {.name = "types_differ",
       .inputs = {u8({2}, {0, 0}), f32({}, {1}), integers(DType::i8, {}, {0})},
       .attrs = {{"axis", 0}},
       .error = "zero has elements of type i8, but x of type u8"},
  };
}

}  // namespace scanloom::ops
