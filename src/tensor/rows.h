// Slices of tensors, and tensors put together from slices, as a loop's ports need them where sizes
// are known only when running: in the interpreter, and for strings, which no arena holds.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/expected.h"
#include "base/function_ref.h"
#include "tensor/tensor.h"

namespace scanloom::tensor {

/// The elements [first, first + part) of an axis, in storage of their own; squeeze (part 1):
/// without that axis. Precondition: they lie inside.
Expected<Tensor> slice(const Tensor& whole, int axis, std::int64_t first, std::int64_t part,
                       bool squeeze);

/// What the slice of the elements [first, first + part) takes, with the texts of strings.
std::int64_t bytes_of_slice(const Tensor& whole, int axis, std::int64_t first, std::int64_t part);

/// Whether `row` may follow `rows`; `port` says, for the message, where they are stacked. Errors
/// (invalid_argument): it has no such axis, or another shape than the first row.
Expected<void> check_row(std::span<const Tensor> rows, const Tensor& row,
                         FunctionRef<std::string()> port, std::int64_t axis, bool insert);
/// Returns the error for a row whose sizes are not those of the first one.
Error row_that_changes(const std::string& port, std::int64_t step, const Shape& sizes,
                       const Shape& first);

/// What the rows take together, with the texts of strings; the largest number where they take
/// more.
std::int64_t bytes_of_rows(std::span<const Tensor> rows);

/// The rows along an axis, which is a new one if `insert`, the last row first if `reverse`.
/// Precondition: there is a row, and check_row took each.
Expected<Tensor> join_rows(std::span<const Tensor> rows, int axis, bool insert, bool reverse);

}  // namespace scanloom::tensor
