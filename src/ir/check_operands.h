// Checks the tensors that an operator is given, without computing anything.
#pragma once

#include "base/expected.h"
#include "ir/op_def.h"

namespace scanloom::ir {

/// Error: the operands, which are tensors, do not fit the operator, as op.infer says.
Expected<void> check_operands(const OpDef& op, const tensor::ObjectCall& call);

}  // namespace scanloom::ir
