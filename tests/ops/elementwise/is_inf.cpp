#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> is_inf_samples() {
  return {
      {.name = "both",
       .inputs = {f32({5}, {1, kInf, -kInf, kNan, -0.0})},
       .attrs = {{"detect_negative", 1}, {"detect_positive", 1}},
       .outputs = {booleans({5}, {false, true, true, false, false})}},
      {.name = "negative_only",
       .inputs = {f32({5}, {1, kInf, -kInf, kNan, -0.0})},
       .attrs = {{"detect_negative", 1}, {"detect_positive", 0}},
       .outputs = {booleans({5}, {false, false, true, false, false})}},
      {.name = "positive_only",
       .inputs = {f32({5}, {1, kInf, -kInf, kNan, -0.0})},
       .attrs = {{"detect_negative", 0}, {"detect_positive", 1}},
       .outputs = {booleans({5}, {false, true, false, false, false})}},
      {.name = "neither",
       .inputs = {f32({5}, {1, kInf, -kInf, kNan, -0.0})},
       .attrs = {{"detect_negative", 0}, {"detect_positive", 0}},
       .outputs = {booleans({5}, {false, false, false, false, false})}},
      {.name = "f16",
       .inputs = {floats(DType::f16, {3}, {kInf, -kInf, 65504})},
       .attrs = {{"detect_negative", 1}, {"detect_positive", 1}},
       .outputs = {booleans({3}, {true, true, false})}},
      {.name = "empty",
       .inputs = {f32({0, 2}, {})},
       .attrs = {{"detect_negative", 1}, {"detect_positive", 1}},
       .outputs = {booleans({0, 2}, {})}},
  };
}

}  // namespace scanloom::ops
