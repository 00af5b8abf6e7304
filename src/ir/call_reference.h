// Calls an operator's reference kernel on whole tensors.
#pragma once

#include <span>

#include "base/expected.h"
#include "ir/op_def.h"
#include "tensor/tensor.h"

namespace scanloom::ir {

/// Whether the call has no effect for these results: none has an element, and the operator neither
/// checks its data nor counts its executions.
[[nodiscard]] bool makes_nothing(const OpDef& op, std::span<const tensor::Operand> results);

/// Fills `results`, whose storage must not be shared. An absent operand is an undefined Tensor.
/// `samples` is for random operators. Errors: cancelled if `stop` stopped it; the kernel's fault,
/// without the node's name; unsupported for more operands than a Call can count. Precondition:
/// op.reference is set and the sizes are those that op.infer gives.
Expected<void> call_reference(const OpDef& op, std::span<const tensor::Tensor> inputs,
                              std::span<const tensor::Attr> attrs,
                              std::span<const tensor::Tensor> results,
                              tensor::SampleCounter* samples = nullptr,
                              tensor::StopToken* stop = nullptr);

}  // namespace scanloom::ir
