#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> mod_samples() {
  return {
      {.name = "sign_of_the_divisor",
       .inputs = {i32({6}, {-7, 7, -7, 7, 5, -2147483648}), i32({6}, {3, -3, -3, 3, 0, -1})},
       .attrs = {{"fmod", 0}},
       .outputs = {i32({6}, {2, -2, -1, 1, 0, 0})}},
      {.name = "sign_of_the_dividend",
       .inputs = {i32({6}, {-7, 7, -7, 7, 5, -2147483648}), i32({6}, {3, -3, -3, 3, 0, -1})},
       .attrs = {{"fmod", 1}},
       .outputs = {i32({6}, {-1, 1, -1, 1, 0, 0})}},
      {.name = "unsigned",
       .inputs = {u8({2}, {200, 7}), u8({}, {7})},
       .attrs = {{"fmod", 0}},
       .outputs = {u8({2}, {4, 0})}},
      {.name = "floats_like_fmod",
       .inputs = {f32({5}, {-5.5, 5.5, 1, kInf, kNan}), f32({5}, {2, -2, 0, 2, 1})},
       .attrs = {{"fmod", 1}},
       .outputs = {f32({5}, {-1.5, 1.5, kNan, kNan, kNan})}},
      {.name = "floats_with_the_sign_of_the_divisor",
       .inputs = {f32({3}, {-5.5, 5.5, 6}), f32({3}, {2, -2, 4})},
       .attrs = {{"fmod", 0}},
       .outputs = {f32({3}, {0.5, -0.5, 2})}},
      {.name = "quotients_beyond_the_mantissa",
       .inputs = {f64({6}, {1e17, 1e20, 1, -1, kInf, 1}), f64({6}, {3, 0.1, kInf, kInf, 2, 0})},
       .attrs = {{"fmod", 0}},
       .outputs = {f64({6}, {1, 0.08487687421760604, 1, kInf, kNan, kNan})}},
      {.name = "zeros_with_the_sign_of_the_divisor",
       .inputs = {f32({3}, {0, -0.0, -6}), f32({3}, {-3, 3, 3})},
       .attrs = {{"fmod", 0}},
       .outputs = {f32({3}, {-0.0, 0, 0})}},
      {.name = "broadcasting",
       .inputs = {i64({2, 1}, {7, -8}), i64({3}, {2, 3, 5})},
       .attrs = {{"fmod", 0}},
       .outputs = {i64({2, 3}, {1, 1, 2, 0, 1, 2})}},
      {.name = "empty",
       .inputs = {i64({0, 2}, {}), i64({}, {3})},
       .attrs = {{"fmod", 0}},
       .outputs = {i64({0, 2}, {})}},
  };
}

}  // namespace scanloom::ops
