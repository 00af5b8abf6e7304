// What argmax and argmin share: NaN counts as the greatest, and among equals the first index wins,
// or the last if `select_last_index` says so.
#pragma once

#include "ir/op_def.h"

namespace scanloom::ops {

/// The attributes of both stand in this order: axis, keepdims, select_last_index.
Expected<void> infer_arg_min_max(ir::InferCtx& ctx);

tensor::Status arg_greatest(const tensor::Call& call) noexcept;
tensor::Status arg_least(const tensor::Call& call) noexcept;

}  // namespace scanloom::ops
