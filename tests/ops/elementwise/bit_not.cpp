#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> bit_not_samples() {
  return {
      {.name = "normal",
       .inputs = {u8({2, 2}, {0, 255, 1, 15})},
       .outputs = {u8({2, 2}, {255, 0, 254, 240})}},
      {.name = "signed",
       .inputs = {i64({3}, {0, -1, 9223372036854775807})},
       .outputs = {i64({3}, {-1, 0, INT64_MIN})}},
      {.name = "small",
       .inputs = {integers(DType::u4, {2}, {0, 5})},
       .outputs = {integers(DType::u4, {2}, {15, 10})}},
      {.name = "empty",
       .inputs = {integers(DType::i8, {0}, {})},
       .outputs = {integers(DType::i8, {0}, {})}},
  };
}

}  // namespace scanloom::ops
