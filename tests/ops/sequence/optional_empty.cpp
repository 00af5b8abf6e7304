#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> optional_empty_samples() {
  return {
      {.name = "of_a_tensor",
       .inputs = {},
       .attrs = {{"dtype", DType::f32}, {"wraps", std::vector<std::int64_t>{}}},
       .outputs = {empty_optional(DType::f32)}},
      {.name = "strange_wrap",
       .inputs = {},
       .attrs = {{"dtype", DType::f32}, {"wraps", std::vector<std::int64_t>{2}}},
       .error = "wrap 2 is neither 0"},
      {.name = "nested_too_deep",
       .inputs = {},
       .attrs = {{"dtype", DType::f32}, {"wraps", std::vector<std::int64_t>(8, 0)}},
       .error = "the limit is 8 levels"},
  };
}

}  // namespace scanloom::ops
