// Words of the IR for element types and shapes.
#pragma once

#include <string_view>

#include "base/expected.h"
#include "tensor/type.h"

namespace scanloom::openvino {

/// Of "f32", as attributes say it, and "FP32", as ports do. Error: no such type, or one that is not
/// held (u2, u3, u6).
Expected<DType> dtype_of(std::string_view word);

/// A Parameter's shape, as "1,?,2..8" or "...": numbers; "?", -1 and bounds, each a size of its
/// own; any number of axes. Error: anything else, with the part that is wrong.
Expected<tensor::Type> type_of(DType dtype, std::string_view shape, tensor::DimTable& dims);

}  // namespace scanloom::openvino
