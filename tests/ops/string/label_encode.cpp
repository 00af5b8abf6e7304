#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> label_encode_samples() {
  return {
      {.name = "strings_to_integers",
       .inputs = {strings({2, 2}, {"a", "c", "?", "b"})},
       .attrs = {{"keys", strings({3}, {"a", "b", "c"})},
                 {"values", i64({3}, {0, 1, 2})},
                 {"default", i64({}, {-1})}},
       .outputs = {i64({2, 2}, {0, 2, -1, 1})}},
      {.name = "integers_to_strings",
       .inputs = {i64({3}, {2, 7, 1})},
       .attrs = {{"keys", i64({2}, {1, 2})},
                 {"values", strings({2}, {"one", "two"})},
                 {"default", strings({}, {"_Unused"})}},
       .outputs = {strings({3}, {"two", "_Unused", "one"})}},
      {.name = "floats_with_one_zero_and_one_nan",
       .inputs = {f32({4}, {-0.0, kNan, 1, 2})},
       .attrs = {{"keys", f32({3}, {0, kNan, 1})},
                 {"values", f32({3}, {10, 20, 30})},
                 {"default", f32({}, {0})}},
       .outputs = {f32({4}, {10, 20, 30, 0})}},
      {.name = "no_keys",
       .inputs = {i64({1}, {1})},
       .attrs = {{"keys", i64({0}, {})}, {"values", f32({0}, {})}, {"default", f32({1}, {4})}},
       .outputs = {f32({1}, {4})}},
      {.name = "counts_differ",
       .inputs = {i64({1}, {1})},
       .attrs = {{"keys", i64({2}, {1, 2})}, {"values", f32({1}, {1})}, {"default", f32({}, {0})}},
       .error = "there are 2 keys, but 1 values"},
      {.name = "another_type",
       .inputs = {i32({1}, {1})},
       .attrs = {{"keys", i64({1}, {1})}, {"values", f32({1}, {1})}, {"default", f32({}, {0})}},
       .error = "x is i32, but the keys are i64"},
  };
}

}  // namespace scanloom::ops
