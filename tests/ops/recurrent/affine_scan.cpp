#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> affine_scan_samples() {
  constexpr float kHuge = 1e30f, kInfinity = std::numeric_limits<float>::infinity();
  return {
      {.name = "forward",
       .inputs = {f32({3}, {2, 3, -1}), f32({3}, {1, 0, 5}), f32({}, {10})},
       .attrs = {{"reverse", 0}},
       .outputs = {f32({4}, {10, 21, 63, -58})}},
      {.name = "reverse",
       .inputs = {f32({3}, {2, 3, -1}), f32({3}, {1, 0, 5}), f32({}, {10})},
       .attrs = {{"reverse", 1}},
       .outputs = {f32({4}, {-29, -15, -5, 10})}},
      {.name = "blocks_and_some",
       .inputs = {floats(DType::f64, {10}, {1, 2, 1, -1, 0, 3, 1, 2, -1, 1}),
                  floats(DType::f64, {10}, {1, 1, 0, 2, 5, 1, -2, 1, 4, 3}),
                  floats(DType::f64, {}, {1})},
       .attrs = {{"reverse", 0}},
       .outputs = {floats(DType::f64, {11}, {1, 2, 5, 5, -3, 5, 16, 14, 29, -25, -22})}},
      {.name = "no_steps",
       .inputs = {f32({0}, {}), f32({0}, {}), f32({}, {7})},
       .attrs = {{"reverse", 1}},
       .outputs = {f32({1}, {7})}},
      // The product of the first factors overflows, the states do not.
      {.name = "zero_times_much",
       .inputs = {f32({8}, {kHuge, kHuge, kHuge, 1, 1, 2, 2, 1}),
                  f32({8}, {0, 0, 0, 1, 1, 0, 1, 0}), f32({}, {0})},
       .attrs = {{"reverse", 0}},
       .outputs = {f32({9}, {0, 0, 0, 0, 1, 2, 4, 9, 9})}},
      {.name = "infinity",
       .inputs = {f32({8}, {kHuge, kHuge, 1, -1, 1, 1, 1, 1}), f32({8}, {0, 0, 0, 0, 1, 0, 1, 0}),
                  f32({}, {1})},
       .attrs = {{"reverse", 0}},
       .outputs = {f32({9}, {1, kHuge, kInfinity, kInfinity, -kInfinity, -kInfinity, -kInfinity,
                             -kInfinity, -kInfinity})}},
      {.name = "other_lengths",
       .inputs = {f32({2}, {1, 1}), f32({3}, {1, 1, 1}), f32({}, {0})},
       .attrs = {{"reverse", 0}},
       .error = "the axis of a and b has sizes 3 and 2"},
      {.name = "matrix",
       .inputs = {f32({1, 2}, {1, 1}), f32({2}, {1, 1}), f32({}, {0})},
       .attrs = {{"reverse", 0}},
       .error = "a has 2 axes, but must have one"},
      {.name = "half",
       .inputs = {floats(DType::f16, {1}, {1}), floats(DType::f16, {1}, {1}),
                  floats(DType::f16, {}, {0})},
       .attrs = {{"reverse", 0}},
       .error = "a holds f16, but must hold f32 or f64"},
      {.name = "two_states",
       .inputs = {f32({1}, {1}), f32({1}, {1}), f32({2}, {0, 0})},
       .attrs = {{"reverse", 0}},
       .error = "initial has 2 elements, not 1"},
  };
}

}  // namespace scanloom::ops
