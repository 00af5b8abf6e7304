// Slices of tensors, and tensors put together from slices, as a loop's ports need them.
#pragma once

#include <span>

#include "base/expected.h"
#include "tensor/tensor.h"

namespace scanloom::interp {

/// The elements [first, first + part) of an axis, in storage of their own; squeeze (part 1):
/// without that axis. Precondition: they lie inside.
Expected<tensor::Tensor> slice(const tensor::Tensor& whole, int axis, std::int64_t first,
                               std::int64_t part, bool squeeze);

/// The rows along an axis, which is a new one if `insert`. Precondition: there is a row, and their
/// shapes are the same but, without insert, for that axis.
Expected<tensor::Tensor> join_rows(std::span<const tensor::Tensor> rows, int axis, bool insert);

}  // namespace scanloom::interp
