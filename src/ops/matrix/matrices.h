// What the operators on square matrices share: their rules of sizes.
#pragma once

#include <string_view>

#include "ir/op_def.h"
#include "opmath/matrix_calls.h"
#include "opmath/plain_matrix.h"

namespace scanloom::ops {

/// Error: input i holds no f32 or f64, or has fewer axes than two, or the last two are known to
/// differ.
Expected<void> check_square(ir::InferCtx& ctx, int i, std::string_view what);

/// Error: input `pivots` holds no i64, or has other sizes than the rows of input `lu` are known to
/// have. Precondition: check_square has passed for `lu`.
Expected<void> check_pivots(ir::InferCtx& ctx, int lu, int pivots);

/// The sizes of the solutions for right sides `b` of systems of square matrices `a`, broadcast
/// along the leading axes. Precondition: check_square has passed. Error: sizes that do not fit.
Expected<void> set_solutions(ir::InferCtx& ctx, int a, int b);

/// f.template operator()<float>(), or <double>: what check_square lets through.
template <class F>
tensor::Status visit_real(DType dtype, F&& f) {
  if (dtype == DType::f32) return f.template operator()<float>();
  return f.template operator()<double>();
}

}  // namespace scanloom::ops
