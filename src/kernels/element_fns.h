// The instructions of element programs as functions over columns of elements: vectors per
// instruction set for f32, f64 and i32, plain loops for everything else. Same bits as eval_scalar.
#pragma once

#include <cstddef>
#include <cstdint>

#include <scanloom/dtype.h>

#include "tensor/scalar.h"

namespace scanloom::kernels {

/// Unused arguments are null. `out` may be an argument's own column where elements are as wide.
using ElementFn = void (*)(std::byte* out, const std::byte* a, const std::byte* b,
                           const std::byte* c, std::int64_t count);

/// first_single, second_single: that argument is one element for all; null for other than two
/// arguments. All null where there are no vectors for the instruction.
struct VectorFns {
  ElementFn columns = nullptr, first_single = nullptr, second_single = nullptr;
};

/// The dtype whose rules `dtype` is computed by: f32, f64, i64, u64 or boolean.
DType compute_dtype(DType dtype);
/// Arithmetic, bit operations and comparisons in a dtype that computes as itself; `width`: bits of
/// the dtype that it stands for, for shifts. Null where the instruction is not defined.
ElementFn plain_fn(tensor::ScalarOp op, DType dtype, int width);
/// Elements of `dtype` to its compute_dtype. Null for complex numbers and strings.
ElementFn widen_fn(DType dtype);
/// From a dtype that computes as itself to any by the rules of casts. Null as above.
ElementFn convert_fn(DType from, DType to);
/// The result of an instruction back to the dtype it stands for: rounded, or its low bits.
ElementFn narrow_fn(DType dtype);
/// a boolean, b and c of `bytes` each: 1, 2, 4 or 8.
ElementFn select_fn(int bytes);

}  // namespace scanloom::kernels
