// Numbers as text: written as numpy does, and read as ONNX's Cast does.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <scanloom/dtype.h>

namespace scanloom::ops {

/// Returns the shortest text that reads back as the element: "1.0", "-2.5e-05", "1e+20", "inf",
/// "nan", "7", "True". Not for strings and complex numbers.
std::string number_text(DType dtype, const std::byte* element);

/// Parses the text into the element: a decimal with or without exponent, "INF" or "NaN" in any
/// case, and for booleans "true" and "false". Integers are truncated. Returns false if the text is
/// not a number, or is out of range for an integer type.
bool read_number(std::string_view text, DType dtype, std::byte* element);

}  // namespace scanloom::ops
