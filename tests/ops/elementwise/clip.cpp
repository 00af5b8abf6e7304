#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> clip_samples() {
  return {
      {.name = "both_limits",
       .inputs = {f32({2, 3}, {-5, -1, 0, 1, 5, 9}), f32({}, {-2}), f32({}, {4})},
       .outputs = {f32({2, 3}, {-2, -1, 0, 1, 4, 4})}},
      {.name = "only_min",
       .inputs = {f32({2, 3}, {-5, -1, 0, 1, 5, 9}), f32({}, {0})},
       .outputs = {f32({2, 3}, {0, 0, 0, 1, 5, 9})}},
      {.name = "only_max",
       .inputs = {f32({2, 3}, {-5, -1, 0, 1, 5, 9}), absent(), f32({}, {0})},
       .outputs = {f32({2, 3}, {-5, -1, 0, 0, 0, 0})}},
      {.name = "no_limit",
       .inputs = {f32({2, 3}, {-5, -1, 0, 1, 5, 9})},
       .outputs = {f32({2, 3}, {-5, -1, 0, 1, 5, 9})}},
      {.name = "min_above_max",
       .inputs = {f32({2, 3}, {-5, -1, 0, 1, 5, 9}), f32({}, {3}), f32({}, {2})},
       .outputs = {f32({2, 3}, {2, 2, 2, 2, 2, 2})}},
      {.name = "special_values",
       .inputs = {f32({4}, {kNan, kInf, -kInf, -0.0}), f32({}, {-1}), f32({}, {1})},
       .outputs = {f32({4}, {kNan, 1, -1, -0.0})}},
      {.name = "integers",
       .inputs = {integers(DType::i8, {3}, {-128, 5, 127}), integers(DType::i8, {}, {-100}),
                  integers(DType::i8, {}, {100})},
       .outputs = {integers(DType::i8, {3}, {-100, 5, 100})}},
      {.name = "empty",
       .inputs = {f32({0, 3}, {}), f32({}, {0}), f32({}, {1})},
       .outputs = {f32({0, 3}, {})}},
  };
}

}  // namespace scanloom::ops
