#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> sequence_empty_samples() {
  return {
      {.name = "f32",
       .inputs = {},
       .attrs = {{"dtype", DType::f32}},
       .outputs = {empty_sequence(DType::f32)}},
      {.name = "string",
       .inputs = {},
       .attrs = {{"dtype", DType::string}},
       .outputs = {empty_sequence(DType::string)}},
  };
}

}  // namespace scanloom::ops
