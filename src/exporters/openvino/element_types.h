// What an IR calls element types and sizes.
#pragma once

#include <string>
#include <string_view>

#include "tensor/type.h"

namespace scanloom::exporters::openvino {

/// "f32", of attributes; empty: an IR has no such type.
[[nodiscard]] std::string_view element_type(DType dtype);
/// "FP32", of ports; "UNSPECIFIED" where an IR has no such type.
[[nodiscard]] std::string port_precision(DType dtype);
/// "2,?,3" as Parameters have it; "..." for any number of axes.
[[nodiscard]] std::string shape_text(const tensor::Type& type);

}  // namespace scanloom::exporters::openvino
