// Size rules shared by the operators on square matrices.
#pragma once

#include <string_view>

#include "ir/op_def.h"
#include "opmath/matrix_calls.h"
#include "opmath/plain_matrix.h"

namespace scanloom::ops {

/// Error: input i is neither f32 nor f64, has fewer than two axes, or its last two are known to
/// differ.
Expected<void> check_square(ir::InferCtx& ctx, int i, std::string_view what);

/// Error: input `pivots` is not i64, or its sizes are known not to match the rows of input `lu`.
/// Precondition: check_square has passed for `lu`.
Expected<void> check_pivots(ir::InferCtx& ctx, int lu, int pivots);

/// Sets the sizes of the solutions for right-hand sides `b` and square matrices `a`, broadcast
/// along the leading axes. Precondition: check_square has passed. Error: sizes that do not match.
Expected<void> set_solutions(ir::InferCtx& ctx, int a, int b);

/// Calls f.template operator()<float>() or <double>(), the dtypes that check_square accepts.
template <class F>
tensor::Status visit_real(DType dtype, F&& f) {
  if (dtype == DType::f32) return f.template operator()<float>();
  return f.template operator()<double>();
}

/// The rule for streams of factorisations, and of what is made from them.
Expected<int> steps_of_matrices(const ir::StepSite& s);

}  // namespace scanloom::ops
