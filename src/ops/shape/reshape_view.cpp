#include "ops/shape/reshape_view.h"

#include "ops/ops.h"

namespace scanloom::ops {
namespace {

using tensor::Shape;

// The strides of axes of size 1 do not matter.
void drop_ones(const Shape& dims, const Shape& strides, Shape& kept, Shape& kept_strides) {
  for (int axis = 0; axis < dims.rank(); ++axis) {
    if (dims[axis] == 1) continue;
    kept.push_back(dims[axis]);
    kept_strides.push_back(strides[axis]);
  }
}

}  // namespace

// Cuts both shapes into the smallest groups of adjacent axes with equal products. A group is a view
// if its input axes can be joined into one.
std::optional<ir::ViewOf> reshape_view(const ir::ViewCtx& ctx) {
  ir::ViewOf view{.offset = 0, .dims = ctx.result, .strides = contiguous_strides(ctx.result)};
  if (ctx.result.elements() == 0) return view;
  Shape dims, strides;
  drop_ones(ctx.dims, ctx.strides, dims, strides);
  int from = 0, to = 0;
  while (from < dims.rank() && to < view.dims.rank()) {
    std::int64_t joined = dims[from], wanted = view.dims[to];
    int from_end = from + 1, to_end = to + 1;
    while (joined != wanted) {
      if (joined < wanted ? from_end == dims.rank() : to_end == view.dims.rank())
        return std::nullopt;
      if (joined < wanted)
        joined *= dims[from_end++];
      else
        wanted *= view.dims[to_end++];
    }
    for (int axis = from; axis + 1 < from_end; ++axis)
      if (strides[axis] != strides[axis + 1] * dims[axis + 1]) return std::nullopt;
    std::int64_t stride = strides[from_end - 1];
    for (int axis = to_end - 1; axis >= to; --axis) {
      view.strides[axis] = stride;
      stride *= view.dims[axis];
    }
    from = from_end;
    to = to_end;
  }
  return view;
}

bool keeps_order(const ir::OpDef& op) { return op.view == reshape_view || &op == &identity_op; }

}  // namespace scanloom::ops
