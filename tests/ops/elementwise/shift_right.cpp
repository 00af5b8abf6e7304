#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> shift_right_samples() {
  return {
      {.name = "normal",
       .inputs = {u8({4}, {8, 3, 129, 255}), u8({4}, {3, 0, 1, 7})},
       .outputs = {u8({4}, {1, 3, 64, 1})}},
      {.name = "width_or_more",
       .inputs = {u8({3}, {255, 255, 255}), u8({3}, {8, 9, 255})},
       .outputs = {u8({3}, {0, 0, 0})}},
      {.name = "signed_fills_with_the_sign",
       .inputs = {i32({4}, {-16, -1, 5, -5}), i32({4}, {2, 31, 32, 32})},
       .outputs = {i32({4}, {-4, -1, 0, -1})}},
      {.name = "wide",
       .inputs = {integers(DType::u64, {2}, {INT64_MIN, INT64_MIN}),
                  integers(DType::u64, {2}, {63, 64})},
       .outputs = {integers(DType::u64, {2}, {1, 0})}},
      {.name = "broadcasting",
       .inputs = {integers(DType::u16, {2, 1}, {32768, 3}), integers(DType::u16, {3}, {0, 1, 15})},
       .outputs = {integers(DType::u16, {2, 3}, {32768, 16384, 1, 3, 1, 0})}},
      {.name = "empty", .inputs = {u8({0}, {}), u8({}, {1})}, .outputs = {u8({0}, {})}},
  };
}

}  // namespace scanloom::ops
