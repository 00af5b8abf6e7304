// The result of a view operator on an operand of known sizes and strides.
#pragma once

#include <optional>

#include "ir/infer.h"
#include "ir/op_def.h"

namespace scanloom::plan {

/// Returns the node's result as a view of an operand of these sizes and strides; nullopt if strides
/// cannot express it, or if a number it depends on is unknown. Precondition: the operator is a
/// view, and its result has known sizes.
std::optional<ir::ViewOf> bound_view(const ir::Node& node, const ir::Inference& inference,
                                     const tensor::Shape& dims, const tensor::Shape& strides);

}  // namespace scanloom::plan
