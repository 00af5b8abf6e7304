#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> string_pack_samples() {
  return {
      {.name = "two",
       .inputs = {i64({2}, {0, 2}), i64({2}, {2, 5}), u8({5}, {'h', 'i', 'a', 'l', 'l'})},
       .outputs = {strings({2}, {"hi", "all"})}},
      {.name = "shared_and_empty",
       .inputs = {i32({2, 2}, {0, 1, 3, 1}), i32({2, 2}, {3, 2, 3, 3}), u8({3}, {'a', 'b', 'c'})},
       .outputs = {strings({2, 2}, {"abc", "b", "", "bc"})}},
      {.name = "of_no_symbols",
       .inputs = {i64({1}, {0}), i64({1}, {0}), u8({0}, {})},
       .outputs = {strings({1}, {""})}},
      {.name = "behind_the_symbols",
       .inputs = {i64({1}, {1}), i64({1}, {4}), u8({3}, {'a', 'b', 'c'})},
       .error = "string 0 is [1, 4), outside the 3 symbols"},
      {.name = "ends_before_its_begin",
       .inputs = {i64({1}, {2}), i64({1}, {1}), u8({3}, {'a', 'b', 'c'})},
       .error = "string 0 is [2, 1), outside the 3 symbols"},
      {.name = "negative",
       .inputs = {i64({1}, {-1}), i64({1}, {1}), u8({3}, {'a', 'b', 'c'})},
       .error = "string 0 is [-1, 1), outside the 3 symbols"},
      {.name = "unequal_counts",
       .inputs = {i64({1}, {0}), i64({2}, {1, 1}), u8({3}, {'a', 'b', 'c'})},
       .error = "begins has sizes [1], but ends has [2]"},
      {.name = "no_bytes",
       .inputs = {i64({1}, {0}), i64({1}, {1}), i64({1}, {97})},
       .error = "symbols is i64[1], but must be a list of u8"},
  };
}

}  // namespace scanloom::ops
