#include <algorithm>

#include "ops/indices.h"
#include "ops/lift_rules.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"
#include "tensor/strided_copy.h"

namespace scanloom::ops {
namespace {
namespace concat {

using tensor::Dim;
using tensor::Operand;
using tensor::Type;

constexpr int kAxis = 0;

// The first input of known rank determines the number of axes.
int known_rank(const ir::InferCtx& ctx) {
  for (int i = 0; i < ctx.input_count(); ++i)
    if (ctx.in(i).ranked) return ctx.in(i).rank();
  return -1;
}

Expected<void> add_input(ir::InferCtx& ctx, int i, std::size_t along, std::vector<Dim>& sizes) {
  const Type& x = ctx.in(i);
  if (!x.ranked) {
    sizes[along] = ctx.dims().fresh();
    return {};
  }
  if (x.dims.size() != sizes.size())
    return invalid_model("input {} has {} axes, but others have {}", i, x.rank(), sizes.size());
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (axis == along) {
      sizes[axis] = ctx.dims().add(sizes[axis], x.dims[axis]);
    } else if (sizes[axis] == Dim(-1)) {
      sizes[axis] = x.dims[axis];
    } else {
      SCANLOOM_TRY(sizes[axis],
                   same_size(ctx, sizes[axis], x.dims[axis],
                             fmt::format("axis {} of input {} and those before it", axis, i)));
    }
  }
  return {};
}

void follow(ir::InferCtx& ctx) {
  std::vector<Dim> values;
  for (int i = 0; i < ctx.input_count(); ++i) {
    const auto part = ctx.integers(i);
    if (!part) return;
    values.insert(values.end(), part->begin(), part->end());
  }
  ctx.set_integers(0, std::move(values));
}

Expected<void> infer(ir::InferCtx& ctx) {
  if (ctx.input_count() == 0) return invalid_model("there is nothing to concatenate");
  const int rank = known_rank(ctx);
  if (rank < 0) {
    ctx.set(0, Type::unranked(ctx.dtype()));
    return {};
  }
  SCANLOOM_TRY(const int axis, ctx.axis(ctx.attr(kAxis).integer(), rank));
  std::vector<Dim> sizes(static_cast<std::size_t>(rank), Dim(-1));
  sizes[static_cast<std::size_t>(axis)] = 0;
  for (int i = 0; i < ctx.input_count(); ++i) {
    if (ctx.dtype(i) != ctx.dtype())
      return invalid_model("input {} has elements of type {}, input 0 of type {}", i,
                           dtype_name(ctx.dtype(i)), dtype_name(ctx.dtype()));
    SCANLOOM_CHECK_OK(add_input(ctx, i, static_cast<std::size_t>(axis), sizes));
  }
  SCANLOOM_CHECK_OK(set_sizes(ctx, 0, ctx.dtype(), std::move(sizes)));
  if (rank == 1 && holds_sizes(ctx.dtype())) follow(ctx);
  return {};
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const Operand& y = call.out(0);
  const int axis = checked_axis(call.attrs[kAxis], y.rank);
  std::int64_t done = 0;
  for (int i = 0; i < call.input_count; ++i) {
    const Operand& x = call.in(i);
    tensor::copy_strided(
        y.dtype, {x.dims, static_cast<std::size_t>(x.rank)}, x.data<std::byte>(), x.strides,
        tensor::advance(y.data<std::byte>(), y.dtype, done * y.strides[axis]), y.strides);
    done += x.dims[axis];
  }
  return tensor::Status::ok;
}

Expected<int> steps(const ir::StepSite& s) {
  const auto axis = attribute_axis(s, s.type(0).rank());
  for (std::size_t i = 0; i < s.node.inputs.size(); ++i)
    if (!s.along(i) || s.axis(i) != s.axis(0))
      return across("its operands do not all have the steps on one axis");
  if (axis == s.axis(0)) return across("it concatenates them");
  return s.axis(0);
}

/// Whether the sizes of all operands agree, also where they are symbols.
bool can_lift(ir::Module& module, const ir::Node& node, const std::vector<bool>&) {
  const auto axis = attribute_axis(module, node);
  if (!axis) return false;
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    ir::Type type = type_of(module, node, i);
    const auto at = static_cast<std::size_t>(*axis);
    if (type.dims.size() <= at) return false;
    type.dims[at] = type_of(module, node).dims[at];
    if (type != type_of(module, node)) return false;
  }
  return true;
}

Expected<ir::Lifted> lift(ir::Builder& builder, const ir::Node& node,
                          const LiftedOperands& operands) {
  const int own = *attribute_axis(builder.module(), node);
  const ir::Lifted& first = *std::ranges::find_if(operands, &ir::Lifted::is_sequence);
  const bool alike = std::ranges::all_of(
      operands, [&](const ir::Lifted& operand) { return operand.axis == first.axis; });
  const int steps = alike ? first.axis : 0;
  std::vector<ir::ValueId> values;
  for (const ir::Lifted& operand : operands) {
    ir::Lifted sequence = operand;
    if (!operand.is_sequence()) {
      SCANLOOM_TRY(sequence, repeated(builder, operand.value, first));
    }
    SCANLOOM_TRY(const ir::ValueId value, with_steps_along(builder, sequence, steps));
    values.push_back(value);
  }
  SCANLOOM_TRY(const ir::ValueId value,
               builder.op(concat_op, std::move(values), {{"axis", own < steps ? own : own + 1}}));
  return ir::Lifted{value, steps};
}

}  // namespace concat
}  // namespace

constinit const ir::OpDef concat_op{
    .name = "concat",
    .doc = "The inputs one after the other along `axis`; all other sizes are the same.",
    .inputs = {{"inputs", ir::Accept::tensor, ir::Arity::variadic}},
    .outputs = {"y"},
    .attrs = {{"axis", tensor::AttrKind::integer}},
    .infer = concat::infer,
    .reference = concat::reference,
    .linear_work = true,
    .steps = {.axis = concat::steps, .any_operand = true},
    .lifting = {concat::can_lift, concat::lift},
};

}  // namespace scanloom::ops
