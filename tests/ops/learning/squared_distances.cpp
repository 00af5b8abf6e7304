#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> squared_distances_samples() {
  return {
      {.name = "plane",
       .inputs = {f32({2, 2}, {0, 0, 1, 2}), f32({3, 2}, {0, 0, 3, 4, -1, 2})},
       .outputs = {f32({2, 3}, {0, 25, 5, 5, 8, 4})}},
      {.name = "more_than_a_group",
       .inputs = {f64({1, 1}, {3}), counted(DType::f64, {18, 1})},
       .outputs = {f64({1, 18},
                       {9, 4, 1, 0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196})}},
      {.name = "many_coordinates",
       .inputs = {counted(DType::f64, {1, 300}), counted(DType::f64, {2, 300})},
       .outputs = {f64({1, 2}, {0, 27'000'000})}},
      {.name = "no_coordinates",
       .inputs = {f32({1, 0}, {}), f32({2, 0}, {})},
       .outputs = {f32({1, 2}, {0, 0})}},
      {.name = "other_coordinates",
       .inputs = {f32({1, 2}, {0, 0}), f32({1, 3}, {0, 0, 0})},
       .error = "the points of a have 2 coordinates, those of b have 3"},
      {.name = "one_axis",
       .inputs = {f32({2}, {0, 0}), f32({1, 2}, {0, 0})},
       .error = "a has 1 axis, but must have 2"},
  };
}

}  // namespace scanloom::ops
