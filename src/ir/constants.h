// The known contents of values that constant nodes make.
#pragma once

#include "ir/module.h"
#include "tensor/tensor.h"

namespace scanloom::ir {

/// The tensor of a constant node's result; nullptr for any other or an invalid value.
[[nodiscard]] const tensor::Tensor* constant_of(const Module& module, ValueId value);

/// Whether the tensor is given and is a boolean of one element that is true.
[[nodiscard]] bool is_true(const tensor::Tensor* value);

}  // namespace scanloom::ir
