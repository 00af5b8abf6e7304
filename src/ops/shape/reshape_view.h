// The view shared by reshape, flatten, squeeze and unsqueeze: the same elements in the same order
// with other sizes.
#pragma once

#include <optional>

#include "ir/op_def.h"

namespace scanloom::ops {

/// nullopt if the strides of the input do not allow it. Precondition: the numbers of elements
/// agree.
std::optional<ir::ViewOf> reshape_view(const ir::ViewCtx& ctx);

/// The rules about steps of reshape and flatten.
Expected<ir::StepFlow> steps_of_reshape(const ir::StepSite& s);
bool can_lift_reshape(ir::Module& module, const ir::Node& node, const std::vector<bool>& varies);
Expected<ir::Lifted> lift_reshape(ir::Builder& builder, const ir::Node& node,
                                  const std::vector<ir::Lifted>& operands);

}  // namespace scanloom::ops
