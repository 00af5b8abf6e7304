// What a view operator makes of operands whose sizes and strides are known.
#pragma once

#include <optional>

#include "ir/infer.h"
#include "ir/op_def.h"

namespace scanloom::plan {

/// Returns the view of an operand of these sizes and strides that is the node's result; nullopt
/// where strides cannot express it, or a number that it is made from is not known. Precondition:
/// the operator is a view, and its result has known sizes.
std::optional<ir::ViewOf> bound_view(const ir::Node& node, const ir::Inference& inference,
                                     const tensor::Shape& dims, const tensor::Shape& strides);

}  // namespace scanloom::plan
