#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> string_unpack_samples() {
  return {
      {.name = "three",
       .inputs = {strings({3}, {"hi", "", "all"})},
       .outputs = {i64({3}, {0, 2, 2}), i64({3}, {2, 2, 5}), u8({5}, {'h', 'i', 'a', 'l', 'l'})}},
      {.name = "scalar",
       .inputs = {strings({}, {"\xc3\xa9"})},
       .outputs = {i64({}, {0}), i64({}, {2}), u8({2}, {0xc3, 0xa9})}},
      {.name = "none",
       .inputs = {strings({0, 2}, {})},
       .outputs = {i64({0, 2}, {}), i64({0, 2}, {}), u8({0}, {})}},
  };
}

}  // namespace scanloom::ops
