// What the stacked results of a loop look like when it takes no step: the one rule for interpreter
// and runtime.
#pragma once

#include <span>
#include <vector>

#include "base/expected.h"
#include "ir/module.h"
#include "tensor/tensor.h"

namespace scanloom::ir {

/// The shape of each stacked result of `loop` after no steps, its operands being `inputs`: sizes
/// that inference finds from these for all steps or for a first one, 0 where nothing determines
/// them; a tensor that is not defined
/// stands for an operand that is no tensor. The body is inferred anew.
Expected<std::vector<tensor::Shape>> empty_stacks(const Module& module, NodeId loop,
                                                  std::span<const tensor::Tensor> inputs);

}  // namespace scanloom::ir
