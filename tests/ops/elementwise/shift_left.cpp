#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> shift_left_samples() {
  return {
      {.name = "normal",
       .inputs = {u8({4}, {1, 3, 129, 255}), u8({4}, {3, 0, 1, 7})},
       .outputs = {u8({4}, {8, 3, 2, 128})}},
      {.name = "width_or_more",
       .inputs = {u8({3}, {255, 255, 255}), u8({3}, {8, 9, 255})},
       .outputs = {u8({3}, {0, 0, 0})}},
      {.name = "signed",
       .inputs = {i32({3}, {-1, 1, 5}), i32({3}, {4, 31, 32})},
       .outputs = {i32({3}, {-16, -2147483648, 0})}},
      {.name = "wide",
       .inputs = {integers(DType::u64, {2}, {1, 1}), integers(DType::u64, {2}, {63, 64})},
       .outputs = {integers(DType::u64, {2}, {INT64_MIN, 0})}},
      {.name = "broadcasting",
       .inputs = {integers(DType::u16, {2, 1}, {1, 3}), integers(DType::u16, {3}, {0, 1, 15})},
       .outputs = {integers(DType::u16, {2, 3}, {1, 2, 32768, 3, 6, 32768})}},
      {.name = "empty", .inputs = {u8({0}, {}), u8({}, {1})}, .outputs = {u8({0}, {})}},
  };
}

}  // namespace scanloom::ops
