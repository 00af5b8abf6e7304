#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> sequence_construct_samples() {
  return {
      {.name = "two",
       .inputs = {f32({2}, {1, 2}), f32({3}, {3, 4, 5})},
       .outputs = {sequence({f32({2}, {1, 2}), f32({3}, {3, 4, 5})})}},
      {.name = "one_of_no_elements",
       .inputs = {i64({0}, {})},
       .outputs = {sequence({i64({0}, {})})}},
      {.name = "strings",
       .inputs = {strings({1}, {"a"}), strings({}, {"b"})},
       .outputs = {sequence({strings({1}, {"a"}), strings({}, {"b"})})}},
      {.name = "sequences",
       .inputs = {sequence({f32({}, {1})}), sequence({f32({}, {2}), f32({}, {3})})},
       .outputs = {sequence({sequence({f32({}, {1})}), sequence({f32({}, {2}), f32({}, {3})})})}},
      {.name = "types_differ",
       .inputs = {f32({}, {1}), i64({}, {1})},
       .error = "item 1 is i64[], but the items of the sequence are f32[]"},
      {.name = "nothing", .inputs = {}, .error = "a sequence needs an item"},
  };
}

}  // namespace scanloom::ops
