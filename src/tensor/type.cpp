#include "tensor/type.h"

#include <algorithm>

#include "base/assert.h"

namespace scanloom::tensor {

std::string_view wrap_name(Wrap wrap) {
  switch (wrap) {
    case Wrap::sequence:
      return "sequence";
    case Wrap::optional:
      return "optional";
    case Wrap::map_i64:
    case Wrap::map_string:
      break;
  }
  return "map";
}

bool Type::is_static() const {
  return is_tensor() && ranked && dims.size() <= static_cast<std::size_t>(kMaxRank) &&
         std::ranges::all_of(dims, [](Dim dim) { return dim.is_constant(); });
}

Shape Type::shape() const {
  SCANLOOM_ASSERT(is_static());
  Shape result;
  for (const Dim dim : dims) result.push_back(dim.value());
  return result;
}

std::string to_string(const Type& type, const DimTable& dims) {
  std::string text;
  for (const Wrap wrap : type.wraps) {
    text.append(wrap_name(wrap)).push_back('(');
    if (is_map(wrap)) text.append(dtype_name(key_dtype(wrap))).push_back(',');
  }
  text += dtype_name(type.dtype);
  text += '[';
  if (!type.ranked) text += '*';
  for (std::size_t axis = 0; axis < type.dims.size(); ++axis) {
    if (axis > 0) text += ',';
    text += dims.to_string(type.dims[axis]);
  }
  text += ']';
  text.append(type.wraps.size(), ')');
  return text;
}

}  // namespace scanloom::tensor
