#include "tests/ops/samples.h"

namespace scanloom::ops {

// Computed with numpy.
std::vector<Sample> integer_matmul_samples() {
  const auto bytes = [](const Shape& shape, std::initializer_list<std::int64_t> values) {
    return integers(DType::i8, shape, values);
  };
  return {
      {.name = "sums",
       .inputs = {u8({2, 3}, {0, 255, 7, 128, 1, 2}), bytes({3, 2}, {-128, 127, 3, -4, 5, 6})},
       .outputs = {i32({2, 2}, {800, -978, -16371, 16264})}},
      {.name = "zero_points_per_column",
       .inputs = {bytes({2, 2}, {-128, 127, 3, 4}), u8({2, 2}, {0, 255, 9, 8}), bytes({}, {-3}),
                  u8({2}, {1, 250})},
       .outputs = {i32({2, 2}, {1165, -32085, 50, -1664})}},
      {.name = "scaled",
       .inputs = {u8({1, 2}, {3, 4}), u8({2, 2}, {5, 6, 7, 8}), absent(), absent(),
                  f32({2}, {0.5, 0.25}), f32({1}, {1})},
       .outputs = {f32({1, 2}, {22.5, 13.5})}},
      {.name = "quantized",
       .inputs = {u8({2, 1}, {3, 200}), bytes({1, 3}, {1, -1, 5}), u8({1}, {1}), absent(),
                  f32({}, {0.25}), absent(), u8({}, {10})},
       .outputs = {u8({2, 3}, {10, 10, 12, 60, 0, 255})}},
      {.name = "signed_result",
       .inputs = {u8({1, 1}, {200}), bytes({1, 3}, {1, -1, 0}), absent(), absent(), f32({}, {0.5}),
                  f32({3}, {0.5, 0, -3}), bytes({}, {-20})},
       .outputs = {bytes({1, 3}, {80, -120, -23})}},
      {.name = "a_bias_of_integers",
       .inputs = {u8({1, 2}, {3, 4}), u8({2, 2}, {5, 6, 7, 8}), absent(), absent(), absent(),
                  i32({2}, {100, -50})},
       .outputs = {i32({1, 2}, {143, 0})}},
      {.name = "a_bias_of_integers_then_a_scale",
       .inputs = {u8({1, 2}, {3, 4}), u8({2, 2}, {5, 6, 7, 8}), u8({}, {1}), absent(),
                  f32({2}, {0.5, 0.25}), i32({1}, {9}), bytes({}, {-2})},
       .outputs = {bytes({1, 2}, {18, 9})}},
      {.name = "batches",
       .inputs = {u8({2, 1, 1, 2}, {1, 2, 3, 4}), u8({3, 2, 1}, {1, 2, 3, 4, 5, 6})},
       .outputs = {i32({2, 3, 1, 1}, {5, 11, 17, 11, 25, 39})}},
      {.name = "no_depth",
       .inputs = {u8({2, 0}, {}), u8({0, 2}, {}), u8({}, {3}), u8({}, {4})},
       .outputs = {i32({2, 2}, {0, 0, 0, 0})}},
      {.name = "no_rows",
       .inputs = {u8({0, 2}, {}), u8({2, 2}, {1, 2, 3, 4})},
       .outputs = {i32({0, 2}, {})}},
      {.name = "depths_differ",
       .inputs = {u8({1, 2}, {1, 2}), u8({3, 1}, {1, 2, 3})},
       .error = "axis 1 of a, which meets axis 0 of b"},
      {.name = "a_vector",
       .inputs = {u8({2}, {1, 2}), u8({2, 1}, {1, 2})},
       .error = "input 0 is a tensor of 1 axes; a matrix has at least 2"},
      {.name = "too_many_scales",
       .inputs = {u8({1, 1}, {1}), u8({1, 3}, {1, 2, 3}), absent(), absent(), f32({2}, {1, 2})},
       .error = "input 4 has 2 elements for 3 columns"},
      {.name = "bias_without_scale",
       .inputs = {u8({1, 1}, {1}), u8({1, 1}, {1}), absent(), absent(), absent(), f32({}, {1})},
       .error = "input 5 needs a scale, input 4"},
      {.name = "bias_of_another_type",
       .inputs = {u8({1, 1}, {1}), u8({1, 1}, {1}), absent(), absent(), f32({}, {1}), u8({}, {1})},
       .error = "input 5 has elements of type u8, neither i32 nor f32"},
      {.name = "wrong_type",
       .inputs = {i32({1, 1}, {1}), u8({1, 1}, {1})},
       .error = "input 0 has elements of type i32, not u8 or i8"},
      {.name = "zero_point_of_two_axes",
       .inputs = {u8({1, 1}, {1}), u8({1, 1}, {1}), u8({1, 1}, {1})},
       .error = "input 2 is a tensor of 2 axes"},
  };
}

}  // namespace scanloom::ops
