#include "tests/ops/samples.h"

namespace scanloom::ops {

// The bits of draw 0 of stream 0 are those of random's first execution with seed and stream 0.
std::vector<Sample> draw_samples() {
  return {
      {.name = "uniform",
       .inputs = {integers(DType::u64, {2}, {0, 0}), i64({2}, {2, 3})},
       .attrs = {{"kind", "uniform"}, {"to", DType::f32}},
       .outputs = {f32({2, 3}, {0.3990464210510254, 0.8805201649665833, 0.7357127666473389,
                                0.6054818034172058, 0.9722411632537842, 0.362091064453125})}},
      {.name = "normal",
       .inputs = {integers(DType::u64, {2}, {0, 0}), i64({2}, {3, 3})},
       .attrs = {{"kind", "normal"}, {"to", DType::f32}},
       .outputs = {f32({3, 3}, {0.7379258618673693, -0.6884335564642547, -1.2860188831756638,
                                -1.0037893655271375, -1.7335880483822266, 2.040362057577271,
                                1.4971889288365277, 0.35540710024523786, -0.08376322025447007})},
       .ulps = 1},
      {.name = "empty",
       .inputs = {integers(DType::u64, {2}, {5, 7}), i64({2}, {3, 0})},
       .attrs = {{"kind", "normal"}, {"to", DType::f64}},
       .outputs = {f64({3, 0}, {})}},
      {.name = "short_key",
       .inputs = {integers(DType::u64, {1}, {0}), i64({1}, {2})},
       .attrs = {{"kind", "normal"}, {"to", DType::f32}},
       .error = "the key is u64[1], not u64[2]"},
      {.name = "other_key",
       .inputs = {i64({2}, {0, 0}), i64({1}, {2})},
       .attrs = {{"kind", "normal"}, {"to", DType::f32}},
       .error = "the key is i64[2], not u64[2]"},
      {.name = "other_type",
       .inputs = {integers(DType::u64, {2}, {0, 0}), i64({1}, {2})},
       .attrs = {{"kind", "normal"}, {"to", DType::i32}},
       .error = "attribute 'to' is i32, neither f32 nor f64"},
  };
}

}  // namespace scanloom::ops
