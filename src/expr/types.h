// The element type of an operation on several expressions: numpy's promotion, with numbers written
// in the program adapting to tensors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "expr/node.h"

namespace scanloom::expr {

/// numpy's promotion of two element types. bf16 with f16 is f32.
[[nodiscard]] DType promote(DType a, DType b);
/// Returns the common type of all expressions; undefined ones do not count. Precondition: one is
/// defined.
[[nodiscard]] DType common_dtype(std::span<const Expr> xs);
/// Returns how often, in this thread, a weak value that is not a constant has had another type than
/// it would have had as a tensor.
[[nodiscard]] std::uint64_t adaptations();
/// Converts all of them to their common element type; errors and undefined ones stay as they are.
[[nodiscard]] std::vector<Expr> promoted(std::vector<Expr> xs);
[[nodiscard]] inline bool is_complex(DType dtype) {
  return dtype_kind(dtype) == DTypeKind::complex;
}
/// Returns the type of both parts of complex numbers; any other type as it is.
[[nodiscard]] DType part_of(DType dtype);
/// Returns the complex type whose parts hold numbers of that type; complex types as they are.
[[nodiscard]] DType complex_of(DType dtype);
/// Converts to another type, as an operator needs it: a number that adapts still does.
[[nodiscard]] Expr converted(const Expr& x, DType to);
/// Returns the floating-point type in which functions of that type are computed: the type itself if
/// it is real or complex.
[[nodiscard]] DType real_of(DType dtype);

}  // namespace scanloom::expr
