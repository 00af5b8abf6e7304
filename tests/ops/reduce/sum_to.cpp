#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> sum_to_samples() {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  return {
      {.name = "leading_axis", .inputs = {x, i64({1}, {3})}, .outputs = {f32({3}, {5, 7, 9})}},
      {.name = "axis_of_one", .inputs = {x, i64({2}, {2, 1})}, .outputs = {f32({2, 1}, {6, 15})}},
      {.name = "everything", .inputs = {x, i64({0}, {})}, .outputs = {f32({}, {21})}},
      {.name = "nothing", .inputs = {x, i64({2}, {2, 3})}, .outputs = {x}},
      {.name = "of_no_elements",
       .inputs = {f64({0, 3}, {}), i64({2}, {1, 3})},
       .outputs = {f64({1, 3}, {0, 0, 0})}},
      {.name = "integers_wrap",
       .inputs = {integers(DType::i8, {2}, {127, 2}), i64({0}, {})},
       .outputs = {integers(DType::i8, {}, {-127})}},
      {.name = "too_few",
       .inputs = {x, i64({2}, {2, 2})},
       .error = "axis 1 of x has 3 elements, which do not add up to 2"},
      {.name = "more_axes",
       .inputs = {x, i64({3}, {1, 2, 3})},
       .error = "the shape has 3 axes, but x has only 2"},
  };
}

}  // namespace scanloom::ops
