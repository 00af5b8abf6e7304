// Numbers as text, as numpy writes them and ONNX's Cast reads them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <scanloom/dtype.h>

namespace scanloom::ops {

/// The shortest text that reads back as the element: "1.0", "-2.5e-05", "1e+20", "inf", "nan", "7",
/// "True". Not for strings and complex numbers.
std::string number_text(DType dtype, const std::byte* element);

/// Sets the element to what the text says: a decimal with or without exponent, "INF", "NaN" in any
/// case and, for booleans, "true" and "false". Integers drop what stands behind the point. Returns
/// false where the text is no number, or one that an integer type does not have.
bool read_number(std::string_view text, DType dtype, std::byte* element);

}  // namespace scanloom::ops
