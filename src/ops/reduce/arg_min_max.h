// Shared by argmax and argmin: NaN counts as the greatest. The first of equal elements wins, or the
// last with `select_last_index`.
#pragma once

#include "ir/op_def.h"

namespace scanloom::ops {

/// Attributes of both, in this order: axis, keepdims, select_last_index.
Expected<void> infer_arg_min_max(ir::InferCtx& ctx);

tensor::Status arg_greatest(const tensor::Call& call) noexcept;
tensor::Status arg_least(const tensor::Call& call) noexcept;

}  // namespace scanloom::ops
