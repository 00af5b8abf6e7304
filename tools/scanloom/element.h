// Elements as numbers and text, shared by feeding, printing and comparing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <scanloom/value.h>

namespace scanloom::cli {

/// Returns numpy's name of the type: "float32", "int64", ...
std::string numpy_name(DType dtype);
/// Returns for example "float32[2,1,128]".
std::string type_text(DType dtype, const std::vector<std::int64_t>& shape);

/// Returns the product of the sizes; nullopt if a size is negative or the product exceeds 2^40.
std::optional<std::int64_t> count_elements(const std::vector<std::int64_t>& shape);

/// Returns the address of the i-th element in row-major order, for any strides.
const std::byte* element_at(const View& view, std::int64_t i);
/// Returns the position of the i-th element in row-major order, for example "[0,3]".
std::string index_text(const std::vector<std::int64_t>& shape, std::int64_t i);

/// Whether elements of the type are read and written as numbers (not complex numbers or text).
bool is_number(DType dtype);
/// Writes a number, rounded to the type. Precondition: is_number(dtype).
void write_number(DType dtype, double number, std::byte* to);
/// Reads a number. Precondition: is_number(dtype).
double read_number(DType dtype, const std::byte* from);
/// Formats a number: rounded if floating point, exact if an integer.
std::string number_text(DType dtype, const std::byte* from);

/// Formats all elements if they are few, otherwise the first ones and "...".
std::string elements_text(const View& view);

/// Returns the size of the elements in bytes. `what` names their owner in errors. Throws Failure
/// for an impossible size.
std::size_t bytes_needed(DType dtype, const std::vector<std::int64_t>& shape,
                         const std::string& what);

/// Memory for elements, zero-initialized.
struct Fresh {
  View view;
  std::byte* data = nullptr;
};
/// Allocates a view. Throws Failure for an impossible size, or if there is too little memory.
Fresh make_view(DType dtype, std::vector<std::int64_t> shape, const std::string& what);

}  // namespace scanloom::cli
