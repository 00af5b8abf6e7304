#include "tests/ops/samples.h"

namespace scanloom::ops {
namespace {

std::vector<Sample> cast_of_floats() {
  return {
      {.name = "f32_to_i32_drops_fractions",
       .inputs = {f32({2, 3}, {1.9, -1.9, 0.5, -0.5, -0.0, 100})},
       .attrs = {{"to", DType::i32}},
       .outputs = {i32({2, 3}, {1, -1, 0, 0, 0, 100})}},
      {.name = "f32_to_u8",
       .inputs = {f32({3}, {1.9, 255, 0.9})},
       .attrs = {{"to", DType::u8}},
       .outputs = {u8({3}, {1, 255, 0})}},
      {.name = "f64_to_f32",
       .inputs = {f64({5}, {0.1, 1e+300, -1e+300, kNan, 1e-300})},
       .attrs = {{"to", DType::f32}},
       .outputs = {f32({5}, {0.1, kInf, -kInf, kNan, 0})}},
      {.name = "f32_to_f64",
       .inputs = {f32({3}, {0.5, kInf, -0.0})},
       .attrs = {{"to", DType::f64}},
       .outputs = {f64({3}, {0.5, kInf, -0.0})}},
      {.name = "f32_to_f16_rounds_to_even",
       .inputs = {f32({6}, {1, 2049, 2051, 65520, -65519, 1e-08})},
       .attrs = {{"to", DType::f16}},
       .outputs = {floats(DType::f16, {6}, {1, 2048, 2052, kInf, -65504, 0})}},
      {.name = "f32_to_bf16_rounds_to_even",
       .inputs = {f32({3}, {1.0039062, 1.0117188, -kInf})},
       .attrs = {{"to", DType::bf16}},
       .outputs = {floats(DType::bf16, {3}, {1, 1.015625, -kInf})}},
      {.name = "f16_to_f32",
       .inputs = {floats(DType::f16, {3}, {0.5, 65504, kNan})},
       .attrs = {{"to", DType::f32}},
       .outputs = {f32({3}, {0.5, 65504, kNan})}},
  };
}

std::vector<Sample> cast_of_booleans_and_integers() {
  return {
      {.name = "to_boolean",
       .inputs = {f32({5}, {0, -0.0, 0.25, kNan, -kInf})},
       .attrs = {{"to", DType::boolean}},
       .outputs = {booleans({5}, {false, false, true, true, true})}},
      {.name = "integers_to_boolean",
       .inputs = {i64({3}, {0, 256, INT64_MIN})},
       .attrs = {{"to", DType::boolean}},
       .outputs = {booleans({3}, {false, true, true})}},
      {.name = "boolean_to_f32",
       .inputs = {booleans({2}, {true, false})},
       .attrs = {{"to", DType::f32}},
       .outputs = {f32({2}, {1, 0})}},
      {.name = "boolean_to_i64",
       .inputs = {booleans({2}, {true, false})},
       .attrs = {{"to", DType::i64}},
       .outputs = {i64({2}, {1, 0})}},
      {.name = "integers_keep_low_bits",
       .inputs = {i64({4}, {300, -1, 2147483648, -129})},
       .attrs = {{"to", DType::i8}},
       .outputs = {integers(DType::i8, {4}, {44, -1, 0, 127})}},
      {.name = "signed_to_unsigned",
       .inputs = {i32({2}, {-1, 7})},
       .attrs = {{"to", DType::u64}},
       .outputs = {integers(DType::u64, {2}, {-1, 7})}},
      {.name = "unsigned_to_signed",
       .inputs = {integers(DType::u32, {2}, {4294967295, 7})},
       .attrs = {{"to", DType::i64}},
       .outputs = {i64({2}, {4294967295, 7})}},
      {.name = "i64_to_f32_rounds_to_even",
       .inputs = {i64({3}, {16777217, 16777219, INT64_MIN})},
       .attrs = {{"to", DType::f32}},
       .outputs = {f32({3}, {1.6777216e+07, 1.677722e+07, -9.223372e+18})}},
      {.name = "u64_to_f64",
       .inputs = {integers(DType::u64, {2}, {-1, INT64_MIN})},
       .attrs = {{"to", DType::f64}},
       .outputs = {f64({2}, {1.8446744073709552e+19, 9.223372036854776e+18})}},
  };
}

std::vector<Sample> cast_narrow_saturated_and_refused() {
  return {
      {.name = "to_i4",
       .inputs = {i32({3}, {7, 8, -9})},
       .attrs = {{"to", DType::i4}},
       .outputs = {integers(DType::i4, {3}, {7, -8, 7})}},
      {.name = "f32_to_i4_keeps_the_low_bits",
       .inputs = {f32({6}, {7.9, 8, -9, 20.5, kNan, -kInf})},
       .attrs = {{"to", DType::i4}},
       .outputs = {integers(DType::i4, {6}, {7, -8, 7, 4, 0, 0})}},
      {.name = "f32_to_f4e2m1",
       .inputs = {f32({6}, {0.48, 1.05, -8, 1e6, kInf, -kNan})},
       .attrs = {{"to", DType::f4e2m1}},
       .outputs = {floats(DType::f4e2m1, {6}, {0.5, 1, -6, 6, 6, -0.0})}},
      {.name = "from_u4",
       .inputs = {integers(DType::u4, {2}, {15, 0})},
       .attrs = {{"to", DType::f32}},
       .outputs = {f32({2}, {15, 0})}},
      {.name = "from_f8e4m3fn",
       .inputs = {floats(DType::f8e4m3fn, {3}, {448, -0.0, kNan})},
       .attrs = {{"to", DType::f32}},
       .outputs = {f32({3}, {448, -0.0, kNan})}},
      {.name = "to_f8e5m2",
       .inputs = {f32({3}, {1.1, -3.5, kNan})},
       .attrs = {{"to", DType::f8e5m2}},
       .outputs = {floats(DType::f8e5m2, {3}, {1, -3.5, kNan})}},
      {.name = "f32_to_integers_saturates",
       .inputs = {f32({5}, {300, -300, kNan, kInf, -128.9})},
       .attrs = {{"to", DType::i8}},
       .outputs = {integers(DType::i8, {5}, {127, -128, 0, 127, -128})}},
      {.name = "f64_to_i64_saturates",
       .inputs = {f64({4}, {1e+19, -1e+19, kNan, 9007199254740992.0})},
       .attrs = {{"to", DType::i64}},
       .outputs = {i64({4}, {9223372036854775807, INT64_MIN, 0, 9007199254740992})}},
      {.name = "f32_to_u64_saturates",
       .inputs = {f32({3}, {1e+30, -1, 1.6777216e+07})},
       .attrs = {{"to", DType::u64}},
       .outputs = {integers(DType::u64, {3}, {-1, 0, 16777216})}},
      {.name = "to_the_same",
       .inputs = {i64({2}, {5, -6})},
       .attrs = {{"to", DType::i64}},
       .outputs = {i64({2}, {5, -6})}},
      {.name = "empty",
       .inputs = {f32({0, 2}, {})},
       .attrs = {{"to", DType::i64}},
       .outputs = {i64({0, 2}, {})}},
      {.name = "from_strings",
       .inputs = {strings({1}, {"1"})},
       .attrs = {{"to", DType::f32}},
       .error = "not defined from element types string to f32"},
      {.name = "to_strings",
       .inputs = {f32({1}, {1})},
       .attrs = {{"to", DType::string}},
       .error = "not defined from element types f32 to string"},
  };
}

}  // namespace

std::vector<Sample> cast_samples() {
  std::vector<Sample> samples = cast_of_floats();
  for (const auto& more : {cast_of_booleans_and_integers(), cast_narrow_saturated_and_refused()})
    samples.insert(samples.end(), more.begin(), more.end());
  return samples;
}

}  // namespace scanloom::ops
