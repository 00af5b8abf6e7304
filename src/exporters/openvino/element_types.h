// The names of element types and sizes in an OpenVINO IR.
#pragma once

#include <string>
#include <string_view>

#include "tensor/type.h"

namespace scanloom::exporters::openvino {

/// Returns the name used in attributes, such as "f32"; empty if the IR has no such type.
[[nodiscard]] std::string_view element_type(DType dtype);
/// Returns the name used in ports, such as "FP32"; "UNSPECIFIED" if the IR has no such type.
[[nodiscard]] std::string port_precision(DType dtype);
/// Returns a shape as Parameters write it: "2,?,3", or "..." for any number of axes.
[[nodiscard]] std::string shape_text(const tensor::Type& type);

}  // namespace scanloom::exporters::openvino
