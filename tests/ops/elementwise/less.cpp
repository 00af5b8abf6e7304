#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> less_samples() {
  return {
      {.name = "normal",
       .inputs = {f32({2, 3}, {1, 2, 3, 4, 5, 6}), f32({2, 3}, {1, 3, 2, 4, 6, 5})},
       .outputs = {booleans({2, 3}, {false, true, false, false, true, false})}},
      {.name = "broadcasting",
       .inputs = {f32({2, 3}, {1, 2, 3, 4, 5, 6}), f32({3}, {3, 2, 6})},
       .outputs = {booleans({2, 3}, {true, false, true, false, false, false})}},
      {.name = "special_values",
       .inputs = {f32({6}, {kNan, 1, kNan, -0.0, kInf, -kInf}),
                  f32({6}, {1, kNan, kNan, 0, kInf, kInf})},
       .outputs = {booleans({6}, {false, false, false, false, false, true})}},
      {.name = "unsigned",
       .inputs = {integers(DType::u64, {3}, {-1, 0, 5}),
                  integers(DType::u64, {3}, {1, INT64_MIN, 5})},
       .outputs = {booleans({3}, {false, true, false})}},
      {.name = "signed",
       .inputs = {integers(DType::i8, {3}, {-1, 127, -128}),
                  integers(DType::i8, {3}, {1, -128, -128})},
       .outputs = {booleans({3}, {true, false, false})}},
      {.name = "f16",
       .inputs = {floats(DType::f16, {2}, {0.5, 2}), floats(DType::f16, {2}, {0.5, -2})},
       .outputs = {booleans({2}, {false, false})}},
      {.name = "empty",
       .inputs = {f32({2, 0}, {}), f32({2, 1}, {1, 2})},
       .outputs = {booleans({2, 0}, {})}},
      {.name = "sizes_that_do_not_broadcast",
       .inputs = {f32({2, 3}, {0, 0, 0, 0, 0, 0}), f32({2}, {0, 0})},
       .error = "do not broadcast: sizes 3 and 2"},
      {.name = "element_types_that_differ",
       .inputs = {f32({1}, {0}), i64({1}, {0})},
       .error = "element types f32 and i64 cannot be combined"},
  };
}

}  // namespace scanloom::ops
