// Shape inference shared by max_roi_pool and roi_align.
#pragma once

#include "ir/infer_ctx.h"
#include "ir/step_rules.h"

namespace scanloom::ops {

/// Sets output 0 to [regions, channels, height, width], for input 0, x [batch, channels, ...], and
/// input 1, the regions with `columns` numbers each. Errors: invalid_model.
Expected<void> set_roi_result(ir::InferCtx& ctx, std::int64_t columns, std::int64_t height,
                              std::int64_t width);

/// Their rule for streams.
Expected<int> steps_of_regions(const ir::StepSite& s);

}  // namespace scanloom::ops
