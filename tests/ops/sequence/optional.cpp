#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> optional_samples() {
  return {
      {.name = "tensor", .inputs = {f32({2}, {1, 2})}, .outputs = {optional_of(f32({2}, {1, 2}))}},
      {.name = "sequence",
       .inputs = {sequence({i64({}, {1})})},
       .outputs = {optional_of(sequence({i64({}, {1})}))}},
  };
}

}  // namespace scanloom::ops
