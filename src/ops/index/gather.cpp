#include <algorithm>

#include "ops/index/index_steps.h"
#include "ops/indices.h"
#include "ops/lift_rules.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/for_each.h"
#include "tensor/strided_copy.h"

namespace scanloom::ops {
namespace {
namespace gather {

using tensor::Dim;
using tensor::Operand;
using tensor::Shape;
using tensor::Type;

constexpr int kAxis = 0;

// Known indices select tracked elements; those out of range are left to the run.
void follow(ir::InferCtx& ctx) {
  const auto values = ctx.integers(0);
  const auto indices = ctx.numbers(1);
  if (!values || !indices || ctx.in(0).rank() != 1 || ctx.in(1).rank() > 1) return;
  const auto count = static_cast<std::int64_t>(values->size());
  std::vector<Dim> picked;
  for (const std::int64_t index : *indices) {
    const std::int64_t position = position_of(index, count);
    if (position < 0) return;
    picked.push_back((*values)[static_cast<std::size_t>(position)]);
  }
  ctx.set_integers(0, std::move(picked));
}

Expected<void> infer(ir::InferCtx& ctx) {
  const Type &data = ctx.in(0), &indices = ctx.in(1);
  if (!data.ranked || !indices.ranked) {
    ctx.set(0, Type::unranked(data.dtype));
    return {};
  }
  SCANLOOM_TRY(const int axis, ctx.axis(ctx.attr(kAxis).integer(), data.rank()));
  std::vector<Dim> sizes(data.dims.begin(), data.dims.begin() + axis);
  sizes.insert(sizes.end(), indices.dims.begin(), indices.dims.end());
  sizes.insert(sizes.end(), data.dims.begin() + axis + 1, data.dims.end());
  SCANLOOM_CHECK_OK(set_sizes(ctx, 0, data.dtype, std::move(sizes)));
  follow(ctx);
  return {};
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const Operand &data = call.in(0), &indices = call.in(1), &y = call.out(0);
  const int axis = checked_axis(call.attrs[kAxis], data.rank);
  const std::int64_t size = data.dims[axis], stride = data.strides[axis];
  // One block per index: all axes of data except the one that is indexed.
  Shape block = data.shape(), from(std::span(data.strides, static_cast<std::size_t>(data.rank)));
  Shape to(std::span(y.strides, static_cast<std::size_t>(y.rank)));
  block.erase(axis);
  from.erase(axis);
  for (int i = 0; i < indices.rank; ++i) to.erase(axis);

  tensor::RowCursor<2> rows({indices.dims, static_cast<std::size_t>(indices.rank)});
  rows.add(indices.strides);
  rows.add(y.strides + axis);
  for (rows.start(); !rows.done(); rows.next())
    for (std::int64_t i = 0; i < rows.length(); ++i) {
      const std::int64_t index = index_at(indices, rows.offset(0) + i * rows.step(0));
      const std::int64_t position = position_of(index, size);
      if (position < 0) return call.fail("index {} is outside an axis of {} elements", index, size);
      tensor::copy_strided(
          y.dtype, block.dims(),
          tensor::advance(data.data<std::byte>(), y.dtype, position * stride), from.data(),
          tensor::advance(y.data<std::byte>(), y.dtype, rows.offset(1) + i * rows.step(1)),
          to.data());
    }
  return tensor::Status::ok;
}

Expected<int> steps(const ir::StepSite& s) {
  const auto axis = data_axis(s);
  if (!axis || (s.along(kDataOperand) && s.along(kIndexOperand))) return error_other_steps();
  if (s.along(kIndexOperand)) return *axis + s.axis(kIndexOperand);
  if (*axis == s.axis(kDataOperand)) return error_selects_steps();
  return s.axis(kDataOperand) < *axis ? s.axis(kDataOperand)
                                      : s.axis(kDataOperand) + s.type(kIndexOperand).rank() - 1;
}

/// Whether each index is a number within an axis of that size.
bool surely_inside(const ir::Module& module, const ir::Node& node, ir::Dim size) {
  const auto indices = integers_of(module, node, 1);
  return indices && size.is_constant() && std::ranges::all_of(*indices, [&](std::int64_t index) {
           return index >= -size.value() && index < size.value();
         });
}

// A varying index is checked as often as in the loop.
bool can_lift(ir::Module& module, const ir::Node& node, const std::vector<bool>& varies) {
  const auto axis = attribute_axis(module, node);
  if (!axis || varies[0] == varies[1]) return false;
  const ir::Dim size = type_of(module, node).dims[static_cast<std::size_t>(*axis)];
  return varies[1] || surely_inside(module, node, size);
}

Expected<ir::Lifted> lift(ir::Builder& builder, const ir::Node& node,
                          const LiftedOperands& operands) {
  const int own = *attribute_axis(builder.module(), node);
  const bool picks = operands[1].is_sequence();
  const int steps = picks ? operands[1].axis : operands[0].axis;
  const int axis = picks || own < steps ? own : own + 1;
  SCANLOOM_TRY(const ir::ValueId value,
               builder.op(gather_op, {operands[0].value, operands[1].value}, {{"axis", axis}}));
  const int width = type_of(builder.module(), node, 1).rank();
  return ir::Lifted{value, picks ? own + steps : own < steps ? steps + width - 1 : steps};
}

}  // namespace gather
}  // namespace

constinit const ir::OpDef gather_op{
    .name = "gather",
    .doc =
        "Slices of data along `axis`, picked by indices; negative ones count from the back. The "
        "axes of indices replace `axis`.",
    .inputs = {{"data", ir::Accept::tensor}, {"indices", ir::Accept::index}},
    .outputs = {"y"},
    .attrs = {{"axis", tensor::AttrKind::integer}},
    .effects = ir::Effects::may_fail,
    .infer = gather::infer,
    .reference = gather::reference,
    .linear_work = true,
    .picks = true,
    .steps = {.axis = gather::steps, .any_operand = true},
    .lifting = {gather::can_lift, gather::lift},
};

}  // namespace scanloom::ops
