#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> string_concat_samples() {
  return {
      {.name = "same_shape",
       .inputs = {strings({2}, {"a", "b"}), strings({2}, {"c", ""})},
       .outputs = {strings({2}, {"ac", "b"})}},
      {.name = "broadcast",
       .inputs = {strings({2, 1}, {"a", "b"}), strings({2}, {"x", "y"})},
       .outputs = {strings({2, 2}, {"ax", "ay", "bx", "by"})}},
      {.name = "scalars",
       .inputs = {strings({}, {"\xc3\xa4"}), strings({}, {"\xe7\x9a\x84"})},
       .outputs = {strings({}, {"\xc3\xa4\xe7\x9a\x84"})}},
      {.name = "nothing",
       .inputs = {strings({0}, {}), strings({1}, {"a"})},
       .outputs = {strings({0}, {})}},
      {.name = "sizes_differ",
       .inputs = {strings({2}, {"a", "b"}), strings({3}, {"a", "b", "c"})},
       .error = "do not broadcast"},
  };
}

}  // namespace scanloom::ops
