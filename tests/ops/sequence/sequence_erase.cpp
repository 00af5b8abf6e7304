#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> sequence_erase_samples() {
  return {
      {.name = "the_last",
       .inputs = {sequence({f32({}, {1}), f32({}, {2})})},
       .outputs = {sequence({f32({}, {1})})}},
      {.name = "the_first",
       .inputs = {sequence({f32({}, {1}), f32({}, {2})}), i64({}, {0})},
       .outputs = {sequence({f32({}, {2})})}},
      {.name = "counted_from_the_back",
       .inputs = {sequence({f32({}, {1}), f32({}, {2}), f32({}, {3})}), i32({}, {-2})},
       .outputs = {sequence({f32({}, {1}), f32({}, {3})})}},
      {.name = "the_only_one",
       .inputs = {sequence({strings({}, {"a"})})},
       .outputs = {empty_sequence(DType::string)}},
      {.name = "position_outside",
       .inputs = {sequence({f32({}, {1})}), i64({}, {1})},
       .error = "position 1 is outside [-1, 1)"},
      {.name = "of_nothing",
       .inputs = {empty_sequence(DType::f32)},
       .error = "no item can be erased from a sequence of 0 items"},
  };
}

}  // namespace scanloom::ops
