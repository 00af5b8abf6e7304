// Which element type an operation on several expressions has: numpy's promotion, in which numbers
// written in the program adapt to tensors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "expr/node.h"

namespace scanloom::expr {

/// numpy's promotion of two element types. bf16 with f16 is f32.
[[nodiscard]] DType promote(DType a, DType b);
/// Of all of them; undefined ones do not count. Precondition: one is defined.
[[nodiscard]] DType common_dtype(std::span<const Expr> xs);
/// Returns how often, in this thread, a weak value that is no constant has had another type than it
/// would have had as a tensor.
[[nodiscard]] std::uint64_t adaptations();
/// All in their common element type; errors and undefined ones as they are.
[[nodiscard]] std::vector<Expr> promoted(std::vector<Expr> xs);
[[nodiscard]] inline bool is_complex(DType dtype) {
  return dtype_kind(dtype) == DTypeKind::complex;
}
/// Returns the type of both parts of complex numbers; any other type as it is.
[[nodiscard]] DType part_of(DType dtype);
/// Returns the complex type whose parts hold such reals or integers; complex types as they are.
[[nodiscard]] DType complex_of(DType dtype);
/// The same in another type, as an operator needs it: a number that adapts still does.
[[nodiscard]] Expr converted(const Expr& x, DType to);
/// The real type in which functions of that one are computed: itself where it is real or complex.
[[nodiscard]] DType real_of(DType dtype);

}  // namespace scanloom::expr
