// The stacked results of a loop that takes no step: the one rule for interpreter and runtime.
#pragma once

#include <span>
#include <vector>

#include "base/expected.h"
#include "ir/module.h"
#include "tensor/tensor.h"

namespace scanloom::ir {

/// The shape of each stacked result of `loop` after zero steps with the operands `inputs`: sizes
/// that inference finds from these for all steps or for a first step, and 0 where nothing
/// determines them. An undefined tensor represents an operand that is not a tensor. Infers the body
/// anew.
Expected<std::vector<tensor::Shape>> empty_stacks(const Module& module, NodeId loop,
                                                  std::span<const tensor::Tensor> inputs);

}  // namespace scanloom::ir
