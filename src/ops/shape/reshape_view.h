// The view shared by reshape, flatten, squeeze and unsqueeze: the same elements in the same order
// with other sizes.
#pragma once

#include <optional>

#include "ir/op_def.h"

namespace scanloom::ops {

/// nullopt if the strides of the input do not allow it. Precondition: the numbers of elements
/// agree.
std::optional<ir::ViewOf> reshape_view(const ir::ViewCtx& ctx);

/// Whether results have the elements of the first operand in the same order: reshape, flatten,
/// squeeze, unsqueeze and identity.
[[nodiscard]] bool keeps_order(const ir::OpDef& op);

}  // namespace scanloom::ops
