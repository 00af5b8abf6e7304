// Operators where finding the sizes of the results takes as long as computing them. Where binding
// does not know the sizes, their results are made in one go, instead of by a kernel after the sizes
// have been inferred.
#pragma once

#include "ir/op_def.h"
#include "tensor/object_call.h"

namespace scanloom::ops {

/// Returns the function that makes the results of `op`; null for all other operators. It may be
/// given tensors that the operator's `infer` accepts.
[[nodiscard]] tensor::ObjectFn sized_results_of(const ir::OpDef& op);

/// Makes the results of non_max_suppression.
Expected<void> selected_boxes(const tensor::ObjectCall& call);

}  // namespace scanloom::ops
