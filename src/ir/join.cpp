#include "ir/infer.h"

namespace scanloom::ir {

bool same_kind(const Type& a, const Type& b) { return a.dtype == b.dtype && a.wraps == b.wraps; }

Type join(const Type& a, const Type& b, DimTable& dims) {
  Type joined = a;
  if (!a.ranked || !b.ranked || a.rank() != b.rank()) {
    joined.ranked = false;
    joined.dims.clear();
    return joined;
  }
  for (std::size_t axis = 0; axis < a.dims.size(); ++axis)
    if (a.dims[axis] != b.dims[axis]) joined.dims[axis] = dims.fresh();
  return joined;
}

}  // namespace scanloom::ir
