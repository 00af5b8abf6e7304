#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> optional_has_element_samples() {
  return {
      {.name = "something",
       .inputs = {optional_of(f32({}, {1}))},
       .outputs = {booleans({}, {true})}},
      {.name = "nothing",
       .inputs = {empty_optional(DType::f32)},
       .outputs = {booleans({}, {false})}},
  };
}

}  // namespace scanloom::ops
