#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> concat_samples() {
  return {
      {.name = "rows",
       .inputs = {f32({1, 3}, {0, 1, 2}), f32({2, 3}, {3, 4, 5, 6, 7, 8})},
       .attrs = {{"axis", 0}},
       .outputs = {f32({3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8})}},
      {.name = "columns",
       .inputs = {f32({2, 1}, {0, 1}), f32({2, 2}, {0, 1, 2, 3}), f32({2, 1}, {0, 1})},
       .attrs = {{"axis", -1}},
       .outputs = {f32({2, 4}, {0, 0, 1, 0, 1, 2, 3, 1})}},
      {.name = "one",
       .inputs = {f32({3}, {0, 1, 2})},
       .attrs = {{"axis", 0}},
       .outputs = {f32({3}, {0, 1, 2})}},
      {.name = "with_empty",
       .inputs = {f32({2, 0}, {}), f32({2, 2}, {0, 1, 2, 3})},
       .attrs = {{"axis", 1}},
       .outputs = {f32({2, 2}, {0, 1, 2, 3})}},
      {.name = "strings",
       .inputs = {strings({1}, {"a"}), strings({2}, {"b", "c"})},
       .attrs = {{"axis", 0}},
       .outputs = {strings({3}, {"a", "b", "c"})}},
      {.name = "sizes_differ",
       .inputs = {f32({2, 1}, {0, 1}), f32({3, 1}, {0, 1, 2})},
       .attrs = {{"axis", 1}},
       .error = "axis 0 of input 1 and those before it has sizes 2 and 3"},
      {.name = "ranks_differ",
       .inputs = {f32({2, 1}, {0, 1}), f32({3}, {0, 1, 2})},
       .attrs = {{"axis", 0}},
       .error = "input 1 has 1 axes, but others have 2"},
  };
}

}  // namespace scanloom::ops
