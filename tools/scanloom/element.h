// Elements as numbers and as text: what feeding, printing and comparing share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <scanloom/value.h>

namespace scanloom::cli {

/// "float32", "int64", ...: the names that numpy uses.
std::string numpy_name(DType dtype);
/// "float32[2,1,128]".
std::string type_text(DType dtype, const std::vector<std::int64_t>& shape);

/// Product of the sizes; nullopt when one is negative or the product is beyond 2^40.
std::optional<std::int64_t> count_elements(const std::vector<std::int64_t>& shape);

/// Address of the i-th element in row-major order, whatever the strides.
const std::byte* element_at(const View& view, std::int64_t i);
/// "[0,3]": the place of the i-th element in row-major order.
std::string index_text(const std::vector<std::int64_t>& shape, std::int64_t i);

/// Whether elements of the type can be written and read as numbers (complex and text cannot).
bool is_number(DType dtype);
/// Rounds to the type. Precondition: is_number(dtype).
void write_number(DType dtype, double number, std::byte* to);
/// Precondition: is_number(dtype).
double read_number(DType dtype, const std::byte* from);
/// Rounded for people; integers in full.
std::string number_text(DType dtype, const std::byte* from);

/// All elements when they are few, otherwise the first ones and "...".
std::string elements_text(const View& view);

/// What the elements need. `what` says in errors what they belong to. Throws Failure when a size is
/// impossible.
std::size_t bytes_needed(DType dtype, const std::vector<std::int64_t>& shape,
                         const std::string& what);

/// Memory for elements, zero at first.
struct Fresh {
  View view;
  std::byte* data = nullptr;
};
/// Throws Failure when a size is impossible, or when there is not so much memory.
Fresh make_view(DType dtype, std::vector<std::int64_t> shape, const std::string& what);

}  // namespace scanloom::cli
