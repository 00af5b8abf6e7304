#include <array>
#include <limits>
#include <numeric>

#include "ops/index/slice_cuts.h"
#include "ops/indices.h"
#include "ops/lift_rules.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"
#include "tensor/strided_copy.h"

namespace scanloom::ops {
namespace {
namespace slice {

using tensor::Dim;
using tensor::Operand;
using tensor::Shape;
using tensor::Type;

constexpr int kStarts = 1;
constexpr int kEnds = 2;
constexpr int kAxes = 3;
constexpr int kSteps = 4;

/// The bounds along one axis as far as inference knows them.
struct Bounds {
  Dim start, end;
  std::int64_t step = 1;
};

// Whether a bound can only mean the end of the axis.
bool is_end_of_axis(Dim end) { return end.is_constant() && is_open_end(end.value()); }

// cut_axis for forward steps along an axis whose size is not a number. nullopt: the sign of a bound
// is not known.
std::optional<Dim> clamped(ir::InferCtx& ctx, Dim bound, Dim size) {
  tensor::DimTable& dims = ctx.dims();
  if (is_end_of_axis(bound) || bound == size) return size;
  if (bound == Dim(0)) return bound;
  if (bound.is_constant() && bound.value() < 0) return dims.max(dims.add(size, bound), 0);
  if (!is_never_negative(ctx, bound)) return std::nullopt;
  return dims.min(bound, size);
}

Dim symbolic_size(ir::InferCtx& ctx, Dim size, const Bounds& bounds) {
  tensor::DimTable& dims = ctx.dims();
  if (bounds.step < 0) {
    const bool whole = (bounds.start == Dim(-1) || is_end_of_axis(bounds.start)) &&
                       bounds.end.is_constant() && is_open_front(bounds.end.value());
    if (!whole || bounds.step < -std::numeric_limits<std::int32_t>::max()) return dims.fresh();
    return dims.floor_div(dims.add(size, -bounds.step - 1), -bounds.step);
  }
  const auto start = clamped(ctx, bounds.start, size), end = clamped(ctx, bounds.end, size);
  if (!start || !end) return dims.fresh();
  // The end is never below 0, so it is the size of a slice that starts at 0.
  const Dim span = *start == Dim(0) ? *end : dims.max(dims.sub(*end, *start), 0);
  if (bounds.step == 1) return span;
  return dims.floor_div(dims.add(span, bounds.step - 1), bounds.step);
}

Dim sliced_size(ir::InferCtx& ctx, Dim size, const Bounds& bounds) {
  if (!size.is_constant() || !bounds.start.is_constant() || !bounds.end.is_constant())
    return symbolic_size(ctx, size, bounds);
  return cut_axis(size.value(), bounds.start.value(), bounds.end.value(), bounds.step).count;
}

// Returns the sliced axes as far as they are known: one per axis; nullopt if unknown.
Expected<std::optional<std::vector<int>>> sliced_axes(ir::InferCtx& ctx, std::size_t count) {
  const int rank = ctx.in(0).rank();
  std::vector<std::int64_t> axes;
  if (ctx.has(kAxes)) {
    const auto given = ctx.numbers(kAxes);
    if (!given) return std::optional<std::vector<int>>();
    axes = *given;
  } else {
    for (std::size_t i = 0; i < count; ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  if (axes.size() != count)
    return invalid_model("{} starts are given for {} axes", count, axes.size());
  SCANLOOM_TRY(std::vector<int> normalised, normalise_axes(ctx, axes, rank));
  return std::optional(std::move(normalised));
}

Expected<void> check_lengths(ir::InferCtx& ctx) {
  const std::int64_t starts = element_count(ctx, kStarts);
  for (const int i : {kEnds, kAxes, kSteps}) {
    if (!ctx.has(i)) continue;
    const std::int64_t count = element_count(ctx, i);
    if (starts >= 0 && count >= 0 && starts != count)
      return invalid_model("input {} has {} elements, but starts has {}", i, count, starts);
  }
  return {};
}

// A tracked vector keeps its tracked elements.
void follow(ir::InferCtx& ctx, const Bounds& bounds) {
  const auto values = ctx.integers(0);
  if (!values || ctx.in(0).rank() != 1) return;
  if (!bounds.start.is_constant() || !bounds.end.is_constant()) return;
  const Cut cut = cut_axis(static_cast<std::int64_t>(values->size()), bounds.start.value(),
                           bounds.end.value(), bounds.step);
  std::vector<Dim> kept;
  for (std::int64_t i = 0; i < cut.count; ++i)
    kept.push_back((*values)[static_cast<std::size_t>(cut.first + i * cut.step)]);
  ctx.set_integers(0, std::move(kept));
}

Expected<void> infer_ranked(ir::InferCtx& ctx, std::size_t count) {
  const Type& x = ctx.in(0);
  SCANLOOM_TRY(const auto axes, sliced_axes(ctx, count));
  if (!axes) {
    ctx.set(0, ctx.fresh(x.dtype, x.rank()));
    return {};
  }
  const auto starts = ctx.integers(kStarts), ends = ctx.integers(kEnds);
  std::optional<std::vector<std::int64_t>> steps(std::in_place, count, 1);
  if (ctx.has(kSteps)) steps = ctx.numbers(kSteps);
  std::vector<Dim> sizes = x.dims;
  for (std::size_t i = 0; i < count; ++i) {
    Dim& size = sizes[static_cast<std::size_t>((*axes)[i])];
    if (steps && (*steps)[i] == 0) return invalid_model("the step along axis {} is 0", (*axes)[i]);
    if (!starts || !ends || !steps) {
      size = ctx.dims().fresh();
      continue;
    }
    const Bounds bounds{(*starts)[i], (*ends)[i], (*steps)[i]};
    size = sliced_size(ctx, size, bounds);
    if (count == 1) follow(ctx, bounds);
  }
  ctx.set(0, x.dtype, std::move(sizes));
  return {};
}

Expected<void> infer(ir::InferCtx& ctx) {
  const Type& x = ctx.in(0);
  for (const int i : {kStarts, kEnds, kAxes, kSteps})
    if (ctx.has(i)) SCANLOOM_CHECK_OK(check_list(ctx, i, fmt::format("input {}", i)));
  SCANLOOM_CHECK_OK(check_lengths(ctx));
  const std::int64_t count = element_count(ctx, kStarts);
  if (!x.ranked) {
    ctx.set(0, Type::unranked(x.dtype));
    return {};
  }
  if (count < 0) {
    ctx.set(0, ctx.fresh(x.dtype, x.rank()));
    return {};
  }
  if (count > x.rank()) return invalid_model("{} axes of {} are cut", count, x.rank());
  return infer_ranked(ctx, static_cast<std::size_t>(count));
}

/// Returns the result's offset, sizes and strides. `bound(input, i)` reads element i of an operand;
/// axes and steps may be absent.
template <class Bound>
ir::ViewOf view_of(const Shape& dims, const Shape& strides, std::int64_t count, bool has_axes,
                   bool has_steps, Bound&& bound) {
  ir::ViewOf view{.offset = 0, .dims = dims, .strides = strides};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t given = has_axes ? bound(kAxes, i) : i;
    const auto axis = static_cast<int>(given < 0 ? given + dims.rank() : given);
    apply_cut(
        view, axis,
        cut_axis(dims[axis], bound(kStarts, i), bound(kEnds, i), has_steps ? bound(kSteps, i) : 1));
  }
  if (view.dims.elements() == 0) view.offset = 0;
  return view;
}

std::optional<ir::ViewOf> view(const ir::ViewCtx& ctx) {
  const std::span integers = ctx.integers;
  for (std::size_t i = kStarts; i < integers.size(); ++i)
    if (!integers[i]) return std::nullopt;
  const auto has = [&](std::size_t i) { return i < integers.size() && !integers[i]->empty(); };
  const auto bound = [&](int input, std::int64_t i) {
    return (*integers[static_cast<std::size_t>(input)])[static_cast<std::size_t>(i)];
  };
  return view_of(ctx.dims, ctx.strides, static_cast<std::int64_t>(integers[kStarts]->size()),
                 has(kAxes), has(kSteps), bound);
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const Operand &x = call.in(0), &y = call.out(0);
  const auto bound = [&](int input, std::int64_t i) { return listed_index(call.in(input), i); };
  const Shape strides(std::span(x.strides, static_cast<std::size_t>(x.rank)));
  const ir::ViewOf from = view_of(x.shape(), strides, call.in(kStarts).elements(), call.has(kAxes),
                                  call.has(kSteps), bound);
  tensor::copy_strided(y.dtype, {y.dims, static_cast<std::size_t>(y.rank)},
                       tensor::advance(x.data<std::byte>(), y.dtype, from.offset),
                       from.strides.data(), y.data<std::byte>(), y.strides);
  return tensor::Status::ok;
}

Expected<int> steps(const ir::StepSite& s) {
  std::vector<int> axes;
  if (s.has(3)) {
    const auto named = axes_of(s, 3);
    if (!named) return across("its axes are not known");
    axes = *named;
  } else {
    const ir::Type& starts = s.type(1);
    if (!starts.is_static()) return across("its axes are not known");
    for (std::int64_t axis = 0; axis < starts.shape().elements(); ++axis)
      axes.push_back(static_cast<int>(axis));
  }
  if (contains(axes, s.axis(0))) return across("it selects some of them");
  return s.axis(0);
}

/// Returns the axes that a slice cuts; nullopt if they are not known.
std::optional<std::vector<std::int64_t>> cut_axes(const ir::Module& module, const ir::Node& node) {
  const tensor::Tensor* starts = constant_of(module, node.inputs[1]);
  if (starts == nullptr) return std::nullopt;
  if (node.inputs.size() <= 3 || !node.inputs[3].valid()) {
    std::vector<std::int64_t> axes(static_cast<std::size_t>(starts->elements()));
    std::iota(axes.begin(), axes.end(), 0);
    return axes;
  }
  const auto given = integers_of(module, node, 3);
  if (!given) return std::nullopt;
  return tensor::normalise_axes(*given, type_of(module, node).rank());
}

bool can_lift(ir::Module& module, const ir::Node& node, const std::vector<bool>&) {
  for (std::size_t i = 1; i < node.inputs.size(); ++i)
    if (node.inputs[i].valid() && constant_of(module, node.inputs[i]) == nullptr) return false;
  return cut_axes(module, node).has_value();
}

Expected<ir::Lifted> lift(ir::Builder& builder, const ir::Node& node,
                          const LiftedOperands& operands) {
  std::vector<std::int64_t> axes = *cut_axes(builder.module(), node);
  for (std::int64_t& axis : axes)
    if (axis >= operands[0].axis) ++axis;
  std::vector<ir::ValueId> inputs;
  for (const ir::Lifted& operand : operands) inputs.push_back(operand.value);
  inputs.resize(std::max<std::size_t>(inputs.size(), 4));
  inputs[3] = list_of(builder, axes);
  SCANLOOM_TRY(const ir::ValueId value, builder.op(slice_op, std::move(inputs)));
  return ir::Lifted{value, operands[0].axis};
}

}  // namespace slice
}  // namespace

std::optional<ir::ViewOf> slice_view(std::span<const tensor::Operand> inputs) {
  const tensor::Operand& x = inputs[0];
  const auto has = [&](std::size_t i) { return i < inputs.size() && inputs[i].present(); };
  const auto bound = [&](int input, std::int64_t i) {
    return listed_index(inputs[static_cast<std::size_t>(input)], i);
  };
  const std::int64_t count = inputs[slice::kStarts].elements();
  if (count > x.rank) return std::nullopt;
  std::array<bool, tensor::kMaxRank> cut{};
  for (std::size_t i = slice::kStarts; i < inputs.size(); ++i)
    if (has(i) && (inputs[i].rank > 1 || inputs[i].elements() != count)) return std::nullopt;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t axis = position_of(has(slice::kAxes) ? bound(slice::kAxes, i) : i, x.rank);
    if (axis < 0 || cut[static_cast<std::size_t>(axis)]) return std::nullopt;
    cut[static_cast<std::size_t>(axis)] = true;
    if (has(slice::kSteps) && bound(slice::kSteps, i) == 0) return std::nullopt;
  }
  const tensor::Shape strides(std::span(x.strides, static_cast<std::size_t>(x.rank)));
  return slice::view_of(x.shape(), strides, count, has(slice::kAxes), has(slice::kSteps), bound);
}

constinit const ir::OpDef slice_op{
    .name = "slice",
    .doc =
        "The elements start, start + step, ... before end, per axis as in Python; without `axes` "
        "of the first axes, without `steps` one by one.",
    .inputs = {{"x", ir::Accept::tensor},
               {.name = "starts", .accept = ir::Accept::index, .decides_sizes = true},
               {.name = "ends", .accept = ir::Accept::index, .same_as = 1, .decides_sizes = true},
               {.name = "axes",
                .accept = ir::Accept::index,
                .arity = ir::Arity::optional,
                .decides_sizes = true},
               {.name = "steps",
                .accept = ir::Accept::index,
                .arity = ir::Arity::optional,
                .decides_sizes = true}},
    .outputs = {"y"},
    .access = ir::Access::view,
    .infer = slice::infer,
    .reference = slice::reference,
    .view = slice::view,
    .steps = {.axis = slice::steps},
    .lifting = {slice::can_lift, slice::lift},
};

}  // namespace scanloom::ops
