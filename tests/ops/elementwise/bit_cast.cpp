#include <complex>

#include "tensor/visit.h"
#include "tests/ops/samples.h"

namespace scanloom::ops {
namespace {

template <class T>
Tensor bit_cast_complex(const Shape& shape, std::initializer_list<std::complex<T>> values) {
  return Tensor::of<std::complex<T>>(shape, {values.begin(), values.size()});
}

}  // namespace

std::vector<Sample> bit_cast_samples() {
  return {
      {.name = "f32_to_i32",
       .inputs = {f32({2, 2}, {1, -2, 0, -0.0})},
       .attrs = {{"to", DType::i32}},
       .outputs = {i32({2, 2}, {0x3f800000, -0x40000000, 0, -0x7fffffff - 1})}},
      {.name = "i64_to_f64",
       .inputs = {i64({2}, {0x3ff8000000000000, 0x7ff0000000000000})},
       .attrs = {{"to", DType::f64}},
       .outputs = {f64({2}, {1.5, kInf})}},
      {.name = "u16_to_bf16",
       .inputs = {integers(DType::u16, {2}, {0x3f80, 0xc000})},
       .attrs = {{"to", DType::bf16}},
       .outputs = {floats(DType::bf16, {2}, {1, -2})}},
      {.name = "u8_to_i8",
       .inputs = {u8({3}, {0, 127, 255})},
       .attrs = {{"to", DType::i8}},
       .outputs = {integers(DType::i8, {3}, {0, 127, -1})}},
      {.name = "u4_to_i4",
       .inputs = {integers(DType::u4, {4}, {0, 7, 8, 15})},
       .attrs = {{"to", DType::i4}},
       .outputs = {integers(DType::i4, {4}, {0, 7, -8, -1})}},
      {.name = "i4_to_u4",
       .inputs = {integers(DType::i4, {3}, {-1, -8, 3})},
       .attrs = {{"to", DType::u4}},
       .outputs = {integers(DType::u4, {3}, {15, 8, 3})}},
      {.name = "i4_to_f4",
       .inputs = {integers(DType::i4, {3}, {1, -7, 7})},
       .attrs = {{"to", DType::f4e2m1}},
       .outputs = {floats(DType::f4e2m1, {3}, {0.5, -0.5, 6})}},
      {.name = "i2_to_u2",
       .inputs = {integers(DType::i2, {2}, {-1, -2})},
       .attrs = {{"to", DType::u2}},
       .outputs = {integers(DType::u2, {2}, {3, 2})}},
      {.name = "c128_to_parts",
       .inputs = {bit_cast_complex<double>({2}, {{1, -2}, {0.5, -0.0}})},
       .attrs = {{"to", DType::f64}},
       .outputs = {f64({2, 2}, {1, -2, 0.5, -0.0})}},
      {.name = "parts_to_c128",
       .inputs = {f64({1, 2, 2}, {1, -2, kInf, 3})},
       .attrs = {{"to", DType::c128}},
       .outputs = {bit_cast_complex<double>({1, 2}, {{1, -2}, {kInf, 3}})}},
      {.name = "c64_scalar_to_parts",
       .inputs = {bit_cast_complex<float>({}, {{1.5, 2.5}})},
       .attrs = {{"to", DType::f32}},
       .outputs = {f32({2}, {1.5, 2.5})}},
      {.name = "parts_to_c64",
       .inputs = {f32({2, 2}, {1, 2, 3, 4})},
       .attrs = {{"to", DType::c64}},
       .outputs = {bit_cast_complex<float>({2}, {{1, 2}, {3, 4}})}},
      {.name = "no_complex_numbers",
       .inputs = {f32({0, 2}, {})},
       .attrs = {{"to", DType::c64}},
       .outputs = {bit_cast_complex<float>({0}, {})}},
      {.name = "three_parts",
       .inputs = {f32({2, 3}, {1, 2, 3, 4, 5, 6})},
       .attrs = {{"to", DType::c64}},
       .error = "a last axis of size 2, but x is f32[2,3]"},
      {.name = "parts_of_other_width",
       .inputs = {f32({2}, {1, 2})},
       .attrs = {{"to", DType::c128}},
       .error = "elements of type f32 have 32 bits, those of type c128 have 128"},
      {.name = "scalar",
       .inputs = {i32({}, {0x40490fdb})},
       .attrs = {{"to", DType::f32}},
       .outputs = {f32({}, {3.1415927410125732})}},
      {.name = "empty",
       .inputs = {f32({0}, {})},
       .attrs = {{"to", DType::u32}},
       .outputs = {integers(DType::u32, {0}, {})}},
      {.name = "other_width",
       .inputs = {f32({1}, {1})},
       .attrs = {{"to", DType::i64}},
       .error = "elements of type f32 have 32 bits, those of type i64 have 64"},
      {.name = "strings",
       .inputs = {strings({1}, {"a"})},
       .attrs = {{"to", DType::i8}},
       .error = "have 0 bits"},
  };
}

}  // namespace scanloom::ops
