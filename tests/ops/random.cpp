#include "tests/ops/samples.h"

namespace scanloom::ops {

// The numbers come from a program of its own that writes out Philox4x32-10 in whole numbers.
std::vector<Sample> random_samples() {
  return {
      {.name = "uniform",
       .inputs = {i64({2}, {2, 3})},
       .attrs = {{"kind", "uniform"}, {"to", DType::f32}, {"seed", 0}, {"stream", 0}},
       .outputs = {f32({2, 3}, {0.3990464210510254, 0.8805201649665833, 0.7357127666473389,
                                0.6054818034172058, 0.9722411632537842, 0.362091064453125})}},
      {.name = "uniform_seeded",
       .inputs = {i64({1}, {5})},
       .attrs = {{"kind", "uniform"}, {"to", DType::f32}, {"seed", 7}, {"stream", 3}},
       .outputs = {f32({5}, {0.20142346620559692, 0.8038173317909241, 0.0262911319732666,
                             0.8171517252922058, 0.7283672094345093})}},
      {.name = "uniform_f64",
       .inputs = {i64({1}, {3})},
       .attrs = {{"kind", "uniform"}, {"to", DType::f64}, {"seed", 0}, {"stream", 1}},
       .outputs = {f64({3}, {0.9916723994488107, 0.20118595819152085, 0.8005833277448138})}},
      {.name = "normal",
       .inputs = {i64({2}, {3, 3})},
       .attrs = {{"kind", "normal"}, {"to", DType::f32}, {"seed", 0}, {"stream", 0}},
       .outputs = {f32({3, 3}, {0.7379258618673693, -0.6884335564642547, -1.2860188831756638,
                                -1.0037893655271375, -1.7335880483822266, 2.040362057577271,
                                1.4971889288365277, 0.35540710024523786, -0.08376322025447007})},
       .ulps = 1},
      {.name = "normal_f64",
       .inputs = {i64({1}, {3})},
       .attrs = {{"kind", "normal"}, {"to", DType::f64}, {"seed", 5}, {"stream", 0}},
       .outputs = {f64({3}, {1.6954323714373645, -0.1738531262509232, -0.8244137433930768})},
       .ulps = 8},
      {.name = "empty",
       .inputs = {i64({2}, {3, 0})},
       .attrs = {{"kind", "normal"}, {"to", DType::f32}, {"seed", 0}, {"stream", 0}},
       .outputs = {f32({3, 0}, {})}},
      {.name = "scalar",
       .inputs = {i64({0}, {})},
       .attrs = {{"kind", "uniform"}, {"to", DType::f32}, {"seed", 0}, {"stream", 0}},
       .outputs = {f32({}, {0.3990464210510254})}},
      {.name = "other_type",
       .inputs = {i64({1}, {2})},
       .attrs = {{"kind", "normal"}, {"to", DType::i32}, {"seed", 0}, {"stream", 0}},
       .error = "attribute 'to' is i32, neither f32 nor f64"},
      {.name = "other_law",
       .inputs = {i64({1}, {2})},
       .attrs = {{"kind", "poisson"}, {"to", DType::f32}, {"seed", 0}, {"stream", 0}},
       .error = "attribute 'kind' is 'poisson'"},
      {.name = "negative_size",
       .inputs = {i64({1}, {-2})},
       .attrs = {{"kind", "normal"}, {"to", DType::f32}, {"seed", 0}, {"stream", 0}},
       .error = "-2"},
  };
}

}  // namespace scanloom::ops
