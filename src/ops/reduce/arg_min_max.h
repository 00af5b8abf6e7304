// Shared by argmax and argmin: NaN counts as the greatest. The first of equal elements wins, or the
// last with `select_last_index`.
#pragma once

#include "ir/op_def.h"

namespace scanloom::ops {

/// Attributes of both, in this order: axis, keepdims, select_last_index.
Expected<void> infer_arg_min_max(ir::InferCtx& ctx);

tensor::Status arg_greatest(const tensor::Call& call) noexcept;
tensor::Status arg_least(const tensor::Call& call) noexcept;

/// Their rules about steps.
Expected<int> steps_of_arg_min_max(const ir::StepSite& s);
bool can_lift_arg_min_max(ir::Module& module, const ir::Node& node,
                          const std::vector<bool>& varies);
Expected<ir::Lifted> lift_arg_min_max(ir::Builder& builder, const ir::Node& node,
                                      const std::vector<ir::Lifted>& operands);

}  // namespace scanloom::ops
