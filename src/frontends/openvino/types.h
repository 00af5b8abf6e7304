// Words of the IR for element types and shapes.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "tensor/type.h"

namespace scanloom::openvino {

/// The interval "2..8" of an axis's sizes; without an end nothing is too large.
struct SizeRange {
  int axis = 0;
  std::int64_t low = 0, high = std::numeric_limits<std::int64_t>::max();
};

/// Returns the type of "f32", as attributes write it, and "FP32", as ports do. Error: no such type.
Expected<DType> dtype_of(std::string_view word);

/// Whether the word says that the element type is not known: "dynamic", "undefined", "UNSPECIFIED".
[[nodiscard]] bool is_dynamic_type(std::string_view word);

/// A Parameter's shape, as "1,?,2..8" or "...": numbers; "?", -1 and intervals, each a size of its
/// own; any number of axes. Intervals are appended to `ranges`. Error: anything else, with the part
/// that is wrong.
Expected<tensor::Type> type_of(DType dtype, std::string_view shape, tensor::DimTable& dims,
                               std::vector<SizeRange>* ranges = nullptr);

}  // namespace scanloom::openvino
