// Element programs from bytes to bytes as look-ups: every call computes the results of all 256
// bytes first. Used by pointwise.
#pragma once

#include "kernels/kernel.h"
#include "kernels/pointwise_plan.h"

namespace scanloom::kernels {

/// Whether the result is a function of one operand of bytes, and a table takes less time than the
/// steps of the plan.
[[nodiscard]] bool is_byte_map(const PrepareCtx& ctx, const PointwisePlan& plan);
/// Precondition: is_byte_map(ctx, plan).
[[nodiscard]] Prepared prepare_byte_map(const PrepareCtx& ctx, const PointwisePlan& plan);

}  // namespace scanloom::kernels
