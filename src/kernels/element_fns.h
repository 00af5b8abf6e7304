// The instructions of element programs as functions over columns of elements: vectors per
// instruction set for f32, f64 and i32, plain loops otherwise. They give the bits of eval_scalar.
#pragma once

#include <cstddef>
#include <cstdint>

#include <scanloom/dtype.h>

#include "tensor/scalar.h"

namespace scanloom::kernels {

/// Unused arguments are null. `out` may be an argument's own column if the elements are as wide.
using ElementFn = void (*)(std::byte* out, const std::byte* a, const std::byte* b,
                           const std::byte* c, std::int64_t count);

/// first_single, second_single: that argument is one element for all; null unless there are two
/// arguments. All are null if the instruction has no vector form.
struct VectorFns {
  ElementFn columns = nullptr, first_single = nullptr, second_single = nullptr;
};

/// The dtype in which `dtype` is computed: f32, f64, i64, u64 or boolean.
DType compute_dtype(DType dtype);
/// Arithmetic, bit operations and comparisons in a compute dtype. `width` is the number of bits of
/// the dtype that it stands for, for shifts. Null if the instruction is not defined.
ElementFn plain_fn(tensor::ScalarOp op, DType dtype, int width);
/// Converts `dtype` to its compute_dtype. Null for complex numbers and strings.
ElementFn widen_fn(DType dtype);
/// Casts from a compute dtype to any other dtype. Null as above.
ElementFn convert_fn(DType from, DType to);
/// Casts integers and booleans to those or to f32 and f64, in one step. Null for other types.
ElementFn direct_fn(DType from, DType to);
/// Converts a result back to the dtype it stands for: rounded, or its low bits.
ElementFn narrow_fn(DType dtype);

}  // namespace scanloom::kernels
