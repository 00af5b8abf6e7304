#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> logical_not_samples() {
  return {
      {.name = "normal",
       .inputs = {booleans({2, 2}, {false, true, true, false})},
       .outputs = {booleans({2, 2}, {true, false, false, true})}},
      {.name = "scalar", .inputs = {booleans({}, {true})}, .outputs = {booleans({}, {false})}},
      {.name = "empty", .inputs = {booleans({0}, {})}, .outputs = {booleans({0}, {})}},
  };
}

}  // namespace scanloom::ops
