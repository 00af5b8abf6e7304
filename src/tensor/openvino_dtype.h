// Names of element types in an OpenVINO IR. Source: OpenVINO's operation sets, "element types".
#pragma once

#include <optional>
#include <string_view>

#include <scanloom/dtype.h>

namespace scanloom::tensor {

struct OpenvinoDtype {
  std::string_view attribute;  ///< "f32", in attributes
  std::string_view precision;  ///< "FP32", in ports
};

/// nullptr: an IR has no such type.
[[nodiscard]] const OpenvinoDtype* openvino_dtype(DType dtype);
/// Finds the type by either name, in any case.
[[nodiscard]] std::optional<DType> dtype_from_openvino(std::string_view word);

}  // namespace scanloom::tensor
