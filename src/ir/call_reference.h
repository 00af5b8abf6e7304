// Calls an operator's reference kernel on whole tensors.
#pragma once

#include <span>

#include "base/expected.h"
#include "ir/op_def.h"
#include "tensor/tensor.h"

namespace scanloom::ir {

/// Whether nothing is left to do for these results: none has an element, and the operator neither
/// looks for faults in data nor counts its executions.
[[nodiscard]] bool makes_nothing(const OpDef& op, std::span<const tensor::Operand> results);

/// Fills `results`, whose storage nothing else shares. An absent operand is a Tensor that is not
/// defined. Errors: the kernel's fault, not naming the node; unsupported for more operands than a
/// Call can count. Precondition: op.reference is set and the sizes are those that op.infer gives.
/// `draws` is for random operators.
Expected<void> call_reference(const OpDef& op, std::span<const tensor::Tensor> inputs,
                              std::span<const tensor::Attr> attrs,
                              std::span<const tensor::Tensor> results,
                              tensor::SampleCounter* samples = nullptr);

}  // namespace scanloom::ir
