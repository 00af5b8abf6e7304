#include "tests/ops/samples.h"

namespace scanloom::ops {

std::vector<Sample> string_format_samples() {
  return {
      {.name = "f32",
       .inputs = {f32({7}, {1, -0.0, 0.1f, 1e16f, 1e-5f, -2.5, kInf})},
       .outputs = {strings({7}, {"1.0", "-0.0", "0.1", "1e+16", "1e-05", "-2.5", "inf"})}},
      {.name = "f64",
       .inputs = {f64({5}, {0.1, 1.0 / 3, 1e15, 123456.789, -kInf})},
       .outputs = {strings(
           {5}, {"0.1", "0.3333333333333333", "1000000000000000.0", "123456.789", "-inf"})}},
      {.name = "nan", .inputs = {f32({}, {kNan})}, .outputs = {strings({}, {"nan"})}},
      {.name = "f16",
       .inputs = {floats(DType::f16, {3}, {0.0999755859375, 65504, 2})},
       .outputs = {strings({3}, {"0.1", "65500.0", "2.0"})}},
      {.name = "i64",
       .inputs = {i64({2}, {std::numeric_limits<std::int64_t>::min(), 7})},
       .outputs = {strings({2}, {"-9223372036854775808", "7"})}},
      {.name = "u8", .inputs = {u8({2}, {0, 255})}, .outputs = {strings({2}, {"0", "255"})}},
      {.name = "i4",
       .inputs = {integers(DType::i4, {2}, {-8, 7})},
       .outputs = {strings({2}, {"-8", "7"})}},
      {.name = "booleans",
       .inputs = {booleans({2}, {true, false})},
       .outputs = {strings({2}, {"True", "False"})}},
      {.name = "strings", .inputs = {strings({}, {"a"})}, .error = "have no text"},
  };
}

}  // namespace scanloom::ops
