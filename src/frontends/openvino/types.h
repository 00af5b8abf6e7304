// The IR's words for element types and shapes.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "tensor/type.h"

namespace scanloom::openvino {

/// The interval "2..8" of sizes of an axis; open-ended if `high` is left at its default.
struct SizeRange {
  int axis = 0;
  std::int64_t low = 0, high = std::numeric_limits<std::int64_t>::max();
};

/// Returns the element type of "f32", as attributes write it, or "FP32", as ports do. Error: no
/// such type.
Expected<DType> dtype_of(std::string_view word);

/// Whether the word denotes an unknown element type: "dynamic", "undefined", "UNSPECIFIED".
[[nodiscard]] bool is_dynamic_type(std::string_view word);

/// Parses the shape of a Parameter, "1,?,2..8" or "...". Entries are numbers, or "?", -1 and
/// intervals, each a distinct unknown size; "..." stands for any number of axes. Intervals are
/// appended to `ranges`. Error: anything else; the message shows the wrong part.
Expected<tensor::Type> type_of(DType dtype, std::string_view shape, tensor::DimTable& dims,
                               std::vector<SizeRange>* ranges = nullptr);

}  // namespace scanloom::openvino
