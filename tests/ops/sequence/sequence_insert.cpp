#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> sequence_insert_samples() {
  return {
      {.name = "at_the_end",
       .inputs = {sequence({f32({1}, {1})}), f32({2}, {2, 3})},
       .outputs = {sequence({f32({1}, {1}), f32({2}, {2, 3})})}},
      {.name = "into_an_empty_one",
       .inputs = {empty_sequence(DType::f32), f32({}, {7})},
       .outputs = {sequence({f32({}, {7})})}},
      {.name = "in_front",
       .inputs = {sequence({i64({}, {1}), i64({}, {2})}), i64({}, {0}), i64({}, {0})},
       .outputs = {sequence({i64({}, {0}), i64({}, {1}), i64({}, {2})})}},
      {.name = "counted_from_the_back",
       .inputs = {sequence({i64({}, {1}), i64({}, {3})}), i64({}, {2}), i32({1}, {-1})},
       .outputs = {sequence({i64({}, {1}), i64({}, {2}), i64({}, {3})})}},
      {.name = "behind_the_last",
       .inputs = {sequence({i64({}, {1})}), i64({}, {2}), i64({}, {1})},
       .outputs = {sequence({i64({}, {1}), i64({}, {2})})}},
      {.name = "sequence_of_sequences",
       .inputs = {sequence({sequence({f32({}, {1})})}), sequence({f32({}, {2})})},
       .outputs = {sequence({sequence({f32({}, {1})}), sequence({f32({}, {2})})})}},
      {.name = "position_outside",
       .inputs = {sequence({i64({}, {1})}), i64({}, {2}), i64({}, {2})},
       .error = "position 2 is outside [-1, 1]"},
      {.name = "position_outside_at_the_front",
       .inputs = {empty_sequence(DType::i64), i64({}, {2}), i64({}, {-1})},
       .error = "position -1 is outside [0, 0]"},
      {.name = "two_positions",
       .inputs = {sequence({i64({}, {1})}), i64({}, {2}), i64({2}, {0, 0})},
       .error = "the position has 2 elements, but 1 is needed"},
      {.name = "not_a_tensor",
       .inputs = {sequence({f32({}, {1})}), sequence({f32({}, {2})})},
       .error = "the item to insert is sequence(f32[]), but the items of the sequence are f32[]"},
  };
}

}  // namespace scanloom::ops
