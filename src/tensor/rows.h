// Slices of tensors, and tensors joined from slices, for loop ports whose sizes are known only in a
// run: in the interpreter, and for strings, which no arena holds.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/expected.h"
#include "base/function_ref.h"
#include "tensor/tensor.h"

namespace scanloom::tensor {

/// The elements [first, first + part) of an axis, in storage of their own; squeeze (part 1):
/// without that axis. Precondition: they are in range.
Expected<Tensor> slice(const Tensor& whole, int axis, std::int64_t first, std::int64_t part,
                       bool squeeze);

/// Bytes of the slice [first, first + part), including the texts of strings.
std::int64_t bytes_of_slice(const Tensor& whole, int axis, std::int64_t first, std::int64_t part);

/// Checks that `row` may follow `rows`; `port` describes the stacked port for the message. Errors
/// (invalid_argument): the row lacks the axis, or its shape differs from that of the first row.
Expected<void> check_row(std::span<const Tensor> rows, const Tensor& row,
                         FunctionRef<std::string()> port, std::int64_t axis, bool insert);
/// Returns the error for a row whose sizes differ from those of the first one.
Error row_that_changes(const std::string& port, std::int64_t step, const Shape& sizes,
                       const Shape& first);

/// Bytes of all rows, including the texts of strings; saturates at the largest number.
std::int64_t bytes_of_rows(std::span<const Tensor> rows);

/// Joins the rows along an axis, which is new if `insert`; in reverse order if `reverse`.
/// Precondition: there is at least one row, and check_row accepted each.
Expected<Tensor> join_rows(std::span<const Tensor> rows, int axis, bool insert, bool reverse);

}  // namespace scanloom::tensor
