#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> optional_get_element_samples() {
  return {
      {.name = "tensor", .inputs = {optional_of(f32({2}, {1, 2}))}, .outputs = {f32({2}, {1, 2})}},
      {.name = "sequence",
       .inputs = {optional_of(sequence({i64({}, {1})}))},
       .outputs = {sequence({i64({}, {1})})}},
      {.name = "of_nothing",
       .inputs = {empty_optional(DType::f32)},
       .error = "the optional is empty"},
  };
}

}  // namespace scanloom::ops
