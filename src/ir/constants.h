// What is known of a value because a constant node makes it.
#pragma once

#include "ir/module.h"
#include "tensor/tensor.h"

namespace scanloom::ir {

/// The tensor of a constant node's result; nullptr for other values, and for none.
[[nodiscard]] const tensor::Tensor* constant_of(const Module& module, ValueId value);

/// Whether it is known, a boolean of one element, and true.
[[nodiscard]] bool is_true(const tensor::Tensor* value);

}  // namespace scanloom::ir
