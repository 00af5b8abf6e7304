#include <algorithm>

#include "ops/lift_rules.h"
#include "ops/named_axes.h"
#include "ops/ops.h"
#include "ops/shape/reshape_view.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"
#include "tensor/strided_copy.h"

namespace scanloom::ops {
namespace {
namespace unsqueeze {

using tensor::Dim;
using tensor::Type;

constexpr int kAxes = 0;

Expected<void> infer(ir::InferCtx& ctx) {
  const Type& x = ctx.in(0);
  SCANLOOM_TRY(const NamedAxes named, read_named_axes(ctx, ctx.attr(kAxes), 1));
  if (!named.present) return invalid_model("no axes are named");
  if (!x.ranked || !named.axes) {
    const bool counted = x.ranked && named.count >= 0 && named.count <= tensor::kMaxRank;
    ctx.set(0, of_unknown_axes(ctx, x.dtype, counted ? x.rank() + named.count : -1));
    return {};
  }
  const std::vector<std::int64_t>& given = *named.axes;
  if (given.size() > static_cast<std::size_t>(tensor::kMaxRank))
    return invalid_model("{} axes are named, more than {}", given.size(), tensor::kMaxRank);
  const int rank = x.rank() + static_cast<int>(given.size());
  SCANLOOM_TRY(const std::vector<int> axes, normalise_axes(ctx, given, rank));
  std::vector<Dim> sizes;
  std::size_t next = 0;
  for (int axis = 0; axis < rank; ++axis) {
    const bool added = std::ranges::find(axes, axis) != axes.end();
    sizes.push_back(added ? Dim(1) : x.dims[next++]);
  }
  SCANLOOM_CHECK_OK(set_sizes(ctx, 0, x.dtype, std::move(sizes)));
  pass_integers(ctx);
  return {};
}

Expected<int> steps(const ir::StepSite& s) {
  if (s.has(1)) return across("its axes are not known");
  std::vector<int> added;
  for (const std::int64_t axis : attr_of(s.node, "axes").integers())
    added.push_back(tensor::normalise_axis(axis, s.result_type().rank()).value_or(0));
  int result = 0;
  for (int left = s.axis(0); contains(added, result) || left > 0; ++result)
    if (!contains(added, result)) --left;
  return result;
}

bool can_lift(ir::Module& module, const ir::Node& node, const std::vector<bool>&) {
  const bool by_attribute = node.inputs.size() < 2 || !node.inputs[1].valid();
  return by_attribute && attribute_axes(node, result_type(module, node).rank()).has_value();
}

Expected<ir::Lifted> lift(ir::Builder& builder, const ir::Node& node,
                          const LiftedOperands& operands) {
  std::vector<std::int64_t> axes =
      *attribute_axes(node, result_type(builder.module(), node).rank());
  // The steps keep their neighbour: they come after the axes of the result that are made from the
  // axes before them.
  std::int64_t result = 0;
  for (int before = operands[0].axis; before > 0; ++result)
    if (std::ranges::find(axes, result) == axes.end()) --before;
  for (std::int64_t& axis : axes)
    if (axis >= result) ++axis;
  SCANLOOM_TRY(const ir::ValueId value,
               builder.op(unsqueeze_op, {operands[0].value}, {{"axes", std::move(axes)}}));
  return ir::Lifted{value, static_cast<int>(result)};
}

std::optional<int> axis_of_lowered(const ir::Module& module, const ir::Node& node, int axis) {
  const auto axes = axes_by_attribute(node, result_type(module, node).rank());
  if (!axes) return std::nullopt;
  int result = axis;
  for (const std::int64_t added : *axes)
    if (added <= result) ++result;
  return result;
}

Expected<ir::ValueId> lower(ir::Builder& builder, const ir::Node& node, ir::ValueId element, int,
                            int result_axis) {
  const int rank = result_type(builder.module(), node).rank();
  auto axes = without_steps(*attribute_axes(node, rank), result_axis);
  return builder.op(unsqueeze_op, {element}, {{"axes", std::move(axes)}});
}

}  // namespace unsqueeze
}  // namespace

constinit const ir::OpDef unsqueeze_op{
    .name = "unsqueeze",
    .doc =
        "With new axes of size 1; `axes`, an attribute or an operand, are positions in the result.",
    .inputs = {{"x", ir::Accept::tensor},
               {"computed_axes", ir::Accept::index, ir::Arity::optional}},
    .outputs = {"y"},
    .attrs = {{"axes", tensor::AttrKind::integers, true}},
    .access = ir::Access::view,
    .infer = unsqueeze::infer,
    .reference = tensor::copy_kernel,
    .view = reshape_view,
    .keeps_order = true,
    .steps = {.axis = unsqueeze::steps},
    .lifting = {unsqueeze::can_lift, unsqueeze::lift},
    .lowering = {unsqueeze::axis_of_lowered, unsqueeze::lower},
};

}  // namespace scanloom::ops
