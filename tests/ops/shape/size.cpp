#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> size_samples() {
  return {
      {.name = "matrix", .inputs = {f32({2, 3}, {0, 1, 2, 3, 4, 5})}, .outputs = {i64({}, {6})}},
      {.name = "scalar", .inputs = {f32({}, {1})}, .outputs = {i64({}, {1})}},
      {.name = "empty", .inputs = {f32({0, 5}, {})}, .outputs = {i64({}, {0})}},
  };
}

}  // namespace scanloom::ops
