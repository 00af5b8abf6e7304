#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> bit_or_samples() {
  return {
      {.name = "normal",
       .inputs = {u8({3}, {12, 255, 0}), u8({3}, {10, 15, 255})},
       .outputs = {u8({3}, {14, 255, 255})}},
      {.name = "signed",
       .inputs = {i32({2}, {-1, -2147483648}), i32({2}, {12345, -7})},
       .outputs = {i32({2}, {-1, -7})}},
      {.name = "broadcasting",
       .inputs = {i64({2, 1}, {-1, 6}), i64({2}, {3, INT64_MIN})},
       .outputs = {i64({2, 2}, {-1, -1, 7, -9223372036854775802})}},
      {.name = "small",
       .inputs = {integers(DType::u4, {1}, {12}), integers(DType::u4, {1}, {10})},
       .outputs = {integers(DType::u4, {1}, {14})}},
      {.name = "empty", .inputs = {u8({0, 2}, {}), u8({1}, {1})}, .outputs = {u8({0, 2}, {})}},
  };
}

}  // namespace scanloom::ops
