// The view that reshape, flatten, squeeze and unsqueeze share: the same elements in the same order
// under other sizes.
#pragma once

#include <optional>

#include "ir/op_def.h"

namespace scanloom::ops {

/// nullopt where the strides of the input do not allow it. Precondition: as many elements.
std::optional<ir::ViewOf> reshape_view(const ir::ViewCtx& ctx);

/// Whether results have the elements of the first operand in the same order: reshape, flatten,
/// squeeze, unsqueeze and identity.
[[nodiscard]] bool keeps_order(const ir::OpDef& op);

}  // namespace scanloom::ops
