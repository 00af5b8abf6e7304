// Shape inference that max_roi_pool and roi_align share.
#pragma once

#include "ir/infer_ctx.h"

namespace scanloom::ops {

/// Sets output 0 to [regions, channels, height, width] of x [batch, channels, ...], input 0, and
/// the regions, input 1, which have `columns` numbers each. Errors: invalid_model.
Expected<void> set_roi_result(ir::InferCtx& ctx, std::int64_t columns, std::int64_t height,
                              std::int64_t width);

}  // namespace scanloom::ops
