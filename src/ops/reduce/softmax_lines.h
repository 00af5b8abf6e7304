// Shared by softmax and log_softmax. The greatest element is subtracted first, so that nothing
// overflows. f16 and bf16 are computed in f32 and rounded once.
#pragma once

#include "ir/op_def.h"

namespace scanloom::ops {

/// The only attribute is axis.
Expected<void> infer_softmax(ir::InferCtx& ctx);
tensor::Status run_softmax(const tensor::Call& call) noexcept;
tensor::Status run_log_softmax(const tensor::Call& call) noexcept;

}  // namespace scanloom::ops
