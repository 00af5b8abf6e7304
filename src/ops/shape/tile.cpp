#include "ops/lift_rules.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"
#include "tensor/for_each.h"
#include "tensor/strided_copy.h"

namespace scanloom::ops {
namespace {
namespace tile {

using tensor::Dim;
using tensor::Operand;
using tensor::Shape;
using tensor::Type;

constexpr std::int64_t kMaxRepeats = std::int64_t{1} << 40;  // elements of the largest tensor

bool is_empty(Dim size) { return size.is_constant() && size.value() == 0; }

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_CHECK_OK(check_list(ctx, 1, "the list of repeats"));
  const Type& x = ctx.in(0);
  const auto repeats = ctx.integers(1);
  if (!x.ranked) {
    const std::int64_t rank = element_count(ctx, 1);
    const bool usable = rank >= 0 && rank <= tensor::kMaxRank;
    ctx.set(0, usable ? ctx.fresh(x.dtype, static_cast<int>(rank)) : Type::unranked(x.dtype));
    return {};
  }
  if (!repeats) {
    if (const std::int64_t count = element_count(ctx, 1); count >= 0 && count != x.rank())
      return invalid_model("{} repeats are given for {} axes", count, x.rank());
    ctx.set(0, ctx.fresh(x.dtype, x.rank()));
    return {};
  }
  if (repeats->size() != x.dims.size())
    return invalid_model("{} repeats are given for {} axes", repeats->size(), x.rank());
  std::vector<Dim> sizes;
  for (std::size_t axis = 0; axis < repeats->size(); ++axis) {
    const Dim times = (*repeats)[axis];
    if (times.is_constant() && times.value() < 0)
      return invalid_model("axis {} is repeated {} times", axis, times.value());
    // A product that overflows would be an unknown size.
    if (times.is_constant() && times.value() > kMaxRepeats && !is_empty(x.dims[axis]))
      return invalid_model("axis {} is repeated {} times, but at most {} are allowed", axis,
                           times.value(), kMaxRepeats);
    sizes.push_back(ctx.dims().mul(x.dims[axis], times));
  }
  return set_sizes(ctx, 0, x.dtype, std::move(sizes));
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const Operand &x = call.in(0), &y = call.out(0);
  const std::span dims(x.dims, static_cast<std::size_t>(x.rank));
  Shape repeats = Shape::filled(x.rank, 0), strides = repeats;
  for (int axis = 0; axis < x.rank; ++axis) {
    repeats[axis] = x.dims[axis] == 0 ? 0 : y.dims[axis] / x.dims[axis];
    strides[axis] = x.dims[axis] * y.strides[axis];
  }
  tensor::for_each_index(repeats.dims(), [&](const Shape& copy) {
    tensor::copy_strided(
        y.dtype, dims, x.data<std::byte>(), x.strides,
        tensor::advance(y.data<std::byte>(), y.dtype, tensor::offset_of(copy, strides.data())),
        y.strides);
  });
  return tensor::Status::ok;
}

/// One copy of each step; any number of copies along the other axes.
Expected<int> steps(const ir::StepSite& s) {
  const auto repeats = s.integers(1);
  if (!repeats || (*repeats)[static_cast<std::size_t>(s.axis(0))] != 1)
    return across("it repeats them");
  return s.axis(0);
}

bool can_lift(ir::Module& module, const ir::Node& node, const std::vector<bool>& varies) {
  return only_first_varies(varies) && integers_of(module, node, 1).has_value();
}

Expected<ir::Lifted> lift(ir::Builder& builder, const ir::Node& node,
                          const LiftedOperands& operands) {
  const int steps = operands[0].axis;
  std::vector<std::int64_t> repeats = *integers_of(builder.module(), node, 1);
  repeats.insert(repeats.begin() + steps, 1);
  SCANLOOM_TRY(const ir::ValueId value,
               builder.op(tile_op, {operands[0].value, list_of(builder, repeats)}));
  return ir::Lifted{value, steps};
}

}  // namespace tile
}  // namespace

constinit const ir::OpDef tile_op{
    .name = "tile",
    .doc = "x repeated along every axis as often as `repeats` says.",
    .inputs = {{"x", ir::Accept::tensor},
               {.name = "repeats", .accept = ir::Accept::index, .decides_sizes = true}},
    .outputs = {"y"},
    .infer = tile::infer,
    .reference = tile::reference,
    .linear_work = true,
    .steps = {.axis = tile::steps},
    .lifting = {tile::can_lift, tile::lift},
};

}  // namespace scanloom::ops
