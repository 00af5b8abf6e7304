// Shared by cumsum and cumprod: everything except the operation.
#pragma once

#include "ir/op_def.h"

namespace scanloom::ops {

inline constexpr decltype(ir::OpDef::inputs) kCumulativeInputs = {{"x", ir::Accept::numeric},
                                                                  {"axis", ir::Accept::index}};
inline constexpr decltype(ir::OpDef::attrs) kCumulativeAttrs = {
    {"exclusive", tensor::AttrKind::integer}, {"reverse", tensor::AttrKind::integer}};

Expected<void> infer_cumulative(ir::InferCtx& ctx);
tensor::Status run_cumsum(const tensor::Call& call) noexcept;
tensor::Status run_cumprod(const tensor::Call& call) noexcept;

/// Their rules about steps.
Expected<int> steps_of_cumulative(const ir::StepSite& s);
bool can_lift_cumulative(ir::Module& module, const ir::Node& node, const std::vector<bool>& varies);
Expected<ir::Lifted> lift_cumulative(ir::Builder& builder, const ir::Node& node,
                                     const std::vector<ir::Lifted>& operands);

}  // namespace scanloom::ops
