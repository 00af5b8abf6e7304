#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> logical_or_samples() {
  return {
      {.name = "normal",
       .inputs = {booleans({4}, {false, false, true, true}),
                  booleans({4}, {false, true, false, true})},
       .outputs = {booleans({4}, {false, true, true, true})}},
      {.name = "broadcasting",
       .inputs = {booleans({2, 1}, {false, true}), booleans({2}, {false, true})},
       .outputs = {booleans({2, 2}, {false, true, true, true})}},
      {.name = "empty",
       .inputs = {booleans({0, 2}, {}), booleans({2}, {false, true})},
       .outputs = {booleans({0, 2}, {})}},
  };
}

}  // namespace scanloom::ops
