#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> sequence_length_samples() {
  return {
      {.name = "two",
       .inputs = {sequence({f32({}, {1}), f32({2}, {2, 3})})},
       .outputs = {i64({}, {2})}},
      {.name = "none", .inputs = {empty_sequence(DType::u8)}, .outputs = {i64({}, {0})}},
  };
}

}  // namespace scanloom::ops
