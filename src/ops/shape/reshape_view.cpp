#include "ops/shape/reshape_view.h"

#include <algorithm>

#include "ops/lift_rules.h"
#include "ops/ops.h"
#include "ops/step_rules.h"

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

namespace {

/// The product of the sizes of the axes before `count`.
ir::Dim size_before(const ir::StepSite& s, const ir::Type& type, std::size_t count) {
  ir::Dim product = 1;
  for (std::size_t i = 0; i < count; ++i) product = s.dims.mul(product, type.dims[i]);
  return product;
}

ir::Dim elements_of(ir::Module& module, const ir::Type& type) {
  ir::Dim elements = 1;
  for (const ir::Dim size : type.dims) elements = module.dims.mul(elements, size);
  return elements;
}

/// Returns the entry that a reshape writes for an axis of the result: its size, or 0 for the size
/// of the same axis of the operand; nullopt if it is neither.
std::optional<std::int64_t> shape_entry(const ir::Type& from, const ir::Type& to,
                                        std::size_t axis) {
  if (axis < from.dims.size() && from.dims[axis] == to.dims[axis]) return 0;
  const ir::Dim size = to.dims[axis];
  if (!size.is_constant() || size.value() == 0) return std::nullopt;
  return size.value();
}

}  // namespace

/// The axes before the steps must have as many elements before and after the reshape. A size that
/// is a multiple of the number of steps then holds that many neighbours of each step.
Expected<ir::StepFlow> steps_of_reshape(const ir::StepSite& s) {
  const ir::Type &from = s.type(0), &to = s.result_type();
  const ir::Dim before = size_before(s, from, static_cast<std::size_t>(s.axis(0)));
  for (std::size_t i = 0; i < to.dims.size(); ++i) {
    if (size_before(s, to, i) != before) continue;
    const ir::Dim each = s.dims.floor_div(to.dims[i], s.steps);
    if (each != ir::Dim(0) && s.dims.mul(each, s.steps) == to.dims[i])
      return ir::StepFlow{ir::StepFlow::Kind::along, static_cast<int>(i), each};
  }
  return across("it mixes their axis with others");
}

bool can_lift_reshape(ir::Module& module, const ir::Node& node, const std::vector<bool>&) {
  const ir::Type from = type_of(module, node), to = result_type(module, node);
  if (elements_of(module, from) != elements_of(module, to)) return false;
  for (std::size_t axis = 0; axis < to.dims.size(); ++axis)
    if (!shape_entry(from, to, axis)) return false;
  return true;
}

// Elements keep their order only if the steps come before all whose axes change.
Expected<ir::Lifted> lift_reshape(ir::Builder& builder, const ir::Node& node,
                                  const LiftedOperands& operands) {
  const ir::Type from = type_of(builder.module(), node), to = result_type(builder.module(), node);
  const auto before = static_cast<std::size_t>(operands[0].axis);
  const bool stay =
      before <= to.dims.size() &&
      std::equal(from.dims.begin(), from.dims.begin() + operands[0].axis, to.dims.begin());
  const int steps = stay ? operands[0].axis : 0;
  SCANLOOM_TRY(const ir::ValueId moved, with_steps_along(builder, operands[0], steps));
  // An entry of 0 copies the size of its own axis; those after the steps have moved up by one.
  std::vector<std::int64_t> shape;
  for (std::size_t axis = 0; axis < to.dims.size(); ++axis)
    shape.push_back(*shape_entry(from, to, axis));
  shape.insert(shape.begin() + steps, 0);
  SCANLOOM_TRY(const ir::ValueId value,
               builder.op(reshape_op, {moved, list_of(builder, shape)}, {{"allowzero", 0}}));
  return ir::Lifted{value, steps};
}

}  // namespace scanloom::ops
