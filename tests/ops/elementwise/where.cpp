#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> where_samples() {
  return {
      {.name = "normal",
       .inputs = {booleans({2, 2}, {true, false, false, true}), f32({2, 2}, {1, 2, 3, 4}),
                  f32({2, 2}, {5, 6, 7, 8})},
       .outputs = {f32({2, 2}, {1, 6, 7, 4})}},
      {.name = "broadcasting",
       .inputs = {booleans({2, 1}, {true, false}), f32({3}, {1, 2, 3}), f32({}, {-1})},
       .outputs = {f32({2, 3}, {1, 2, 3, -1, -1, -1})}},
      {.name = "special_values",
       .inputs = {booleans({3}, {true, false, true}), f32({3}, {kNan, 1, -0.0}), f32({}, {-kInf})},
       .outputs = {f32({3}, {kNan, -kInf, -0.0})}},
      {.name = "integers",
       .inputs = {booleans({2}, {true, false}), i64({2}, {INT64_MIN, 1}),
                  i64({2}, {0, 9223372036854775807})},
       .outputs = {i64({2}, {INT64_MIN, 9223372036854775807})}},
      {.name = "booleans",
       .inputs = {booleans({2}, {true, false}), booleans({2}, {false, true}),
                  booleans({2}, {true, false})},
       .outputs = {booleans({2}, {false, false})}},
      {.name = "strings",
       .inputs = {booleans({2}, {true, false}), strings({2}, {"a", "b"}), strings({}, {"c"})},
       .outputs = {strings({2}, {"a", "c"})}},
      {.name = "f16",
       .inputs = {booleans({2}, {true, false}), floats(DType::f16, {2}, {0.5, 1}),
                  floats(DType::f16, {2}, {2, -4})},
       .outputs = {floats(DType::f16, {2}, {0.5, -4})}},
      {.name = "empty",
       .inputs = {booleans({0, 1}, {}), f32({3}, {1, 2, 3}), f32({}, {0})},
       .outputs = {f32({0, 3}, {})}},
      {.name = "element_types_that_differ",
       .inputs = {booleans({1}, {true}), f32({1}, {0}), i64({1}, {0})},
       .error = "element types f32 and i64 cannot be combined"},
  };
}

}  // namespace scanloom::ops
