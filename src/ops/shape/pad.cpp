#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

#include "ops/indices.h"
#include "ops/lift_rules.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"
#include "tensor/for_each.h"
#include "tensor/strided_copy.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {
namespace pad {

using tensor::Dim;
using tensor::Operand;
using tensor::Shape;
using tensor::Type;

constexpr int kMode = 0;
constexpr int kPads = 1;
constexpr int kValue = 2;
constexpr int kAxes = 3;

// Larger than any tensor, and far from overflow.
constexpr std::int64_t kMaxPad = std::int64_t{1} << 41;

enum class Mode : std::uint8_t { constant, reflect, edge, wrap };

std::optional<Mode> mode_of(std::string_view text) {
  if (text == "constant") return Mode::constant;
  if (text == "reflect") return Mode::reflect;
  if (text == "edge") return Mode::edge;
  if (text == "wrap") return Mode::wrap;
  return std::nullopt;
}

// Returns the axes that pads refers to; nullopt if they are not known.
Expected<std::optional<std::vector<int>>> inferred_axes(ir::InferCtx& ctx, int rank) {
  std::vector<std::int64_t> axes;
  if (ctx.has(kAxes)) {
    const auto given = ctx.numbers(kAxes);
    if (!given) return std::optional<std::vector<int>>();
    axes = *given;
  } else {
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  SCANLOOM_TRY(std::vector<int> normalised, normalise_axes(ctx, axes, rank));
  return std::optional(std::move(normalised));
}

// The kernel trusts the lengths of pads and axes, even if only data determines their values.
Expected<void> check_counts(const ir::InferCtx& ctx, int rank) {
  const std::int64_t axes = ctx.has(kAxes) ? element_count(ctx, kAxes) : rank;
  const std::int64_t pads = element_count(ctx, kPads);
  if (axes > rank) return invalid_model("{} axes are given for an input of {}", axes, rank);
  if (axes >= 0 && pads >= 0 && pads != 2 * axes)
    return invalid_model("{} pads are given for {} axes", pads, axes);
  return {};
}

Expected<Dim> padded_size(ir::InferCtx& ctx, Dim size, Dim begin, Dim end, Mode mode, int axis) {
  for (const Dim pad : {begin, end})
    if (pad.is_constant() && (pad.value() > kMaxPad || pad.value() < -kMaxPad))
      return invalid_model("axis {} is padded by {}, outside [{}, {}]", axis, pad.value(), -kMaxPad,
                           kMaxPad);
  const Dim result = ctx.dims().add(ctx.dims().add(size, begin), end);
  if (!result.is_constant()) return result;
  if (result.value() < 0)
    return invalid_model("axis {} of {} elements is cut to {}", axis,
                         size.is_constant() ? size.value() : -1, result.value());
  if (mode != Mode::constant && size == Dim(0) && result != Dim(0))
    return invalid_model("axis {} has 0 elements to repeat in {}", axis, result.value());
  return result;
}

Expected<void> infer(ir::InferCtx& ctx) {
  const Type& x = ctx.in(0);
  const auto mode = mode_of(ctx.attr(kMode).text());
  if (!mode) return invalid_model("unknown padding mode '{}'", ctx.attr(kMode).text());
  if (ctx.has(kValue)) SCANLOOM_CHECK_OK(check_elements(ctx, kValue, 1, "the value to pad with"));
  SCANLOOM_CHECK_OK(check_list(ctx, kPads, "the list of pads"));
  if (ctx.has(kAxes)) SCANLOOM_CHECK_OK(check_list(ctx, kAxes, "the list of axes"));
  if (!x.ranked) {
    ctx.set(0, Type::unranked(x.dtype));
    return {};
  }
  SCANLOOM_CHECK_OK(check_counts(ctx, x.rank()));
  SCANLOOM_TRY(const auto axes, inferred_axes(ctx, x.rank()));
  const auto pads = ctx.integers(kPads);
  if (!axes || !pads) {
    ctx.set(0, ctx.fresh(x.dtype, x.rank()));
    return {};
  }
  const std::size_t count = axes->size();
  if (pads->size() != 2 * count)
    return invalid_model("{} pads are given for {} axes", pads->size(), count);
  std::vector<Dim> sizes = x.dims;
  for (std::size_t i = 0; i < count; ++i) {
    Dim& size = sizes[static_cast<std::size_t>((*axes)[i])];
    SCANLOOM_TRY(size, padded_size(ctx, size, (*pads)[i], (*pads)[count + i], *mode, (*axes)[i]));
  }
  return set_sizes(ctx, 0, x.dtype, std::move(sizes));
}

/// Returns the elements before the first one, per axis of x.
Shape begins_of(const tensor::Call& call) {
  const int rank = call.in(0).rank;
  Shape begins = Shape::filled(rank, 0);
  const Operand& pads = call.in(kPads);
  const std::int64_t count = pads.elements() / 2;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t given = call.has(kAxes) ? listed_index(call.in(kAxes), i) : i;
    begins[static_cast<int>(given < 0 ? given + rank : given)] = listed_index(pads, i);
  }
  return begins;
}

// Maps a position that may lie outside the axis to an element of it. Precondition: size > 0.
std::int64_t source_of(std::int64_t position, std::int64_t size, Mode mode) {
  if (position >= 0 && position < size) return position;
  if (mode == Mode::edge) return position < 0 ? 0 : size - 1;
  const std::int64_t period = mode == Mode::wrap ? size : std::max<std::int64_t>(2 * size - 2, 1);
  const std::int64_t rest = position % period, folded = rest < 0 ? rest + period : rest;
  return folded < size ? folded : period - folded;
}

void pad_constant(const tensor::Call& call, const Shape& begins) {
  static constexpr std::array<std::byte, 16> kZero{};
  const Operand &x = call.in(0), &y = call.out(0);
  fill(y, call.has(kValue) ? call.in(kValue).data<const std::byte>() : kZero.data());
  // The part of x that remains, and its position in the result.
  Shape dims = x.shape();
  std::int64_t from = 0, to = 0;
  for (int axis = 0; axis < x.rank; ++axis) {
    const std::int64_t first = std::max<std::int64_t>(-begins[axis], 0);
    const std::int64_t last = std::min(x.dims[axis], y.dims[axis] - begins[axis]);
    if (last <= first) return;
    dims[axis] = last - first;
    from += first * x.strides[axis];
    to += (first + begins[axis]) * y.strides[axis];
  }
  tensor::copy_strided(y.dtype, dims.dims(), tensor::advance(x.data<std::byte>(), y.dtype, from),
                       x.strides, tensor::advance(y.data<std::byte>(), y.dtype, to), y.strides);
}

template <class T>
void pad_repeating(const tensor::Call& call, const Shape& begins, Mode mode) {
  const Operand &x = call.in(0), &y = call.out(0);
  tensor::for_each_index(y.shape().dims(), [&](const Shape& index) {
    std::int64_t from = 0;
    for (int axis = 0; axis < x.rank; ++axis)
      from += source_of(index[axis] - begins[axis], x.dims[axis], mode) * x.strides[axis];
    y.data<T>()[tensor::offset_of(index, y.strides)] = x.data<const T>()[from];
  });
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const Shape begins = begins_of(call);
  const Mode mode = mode_of(call.attrs[kMode].text()).value_or(Mode::constant);
  if (mode == Mode::constant)
    pad_constant(call, begins);
  else
    tensor::visit_bytes(call.out(0).dtype, [&]<class T>(std::type_identity<T>) {
      pad_repeating<T>(call, begins, mode);
    });
  return tensor::Status::ok;
}

Expected<int> steps(const ir::StepSite& s) {
  const auto pads = s.integers(kPads);
  const auto axes = axes_of(s, kAxes);
  if (!pads || (s.has(kAxes) && !axes)) return across("the axes it adds are unknown");
  const std::size_t count = pads->size() / 2;
  for (std::size_t i = 0; i < count; ++i) {
    const bool theirs = (axes ? (*axes)[i] : static_cast<int>(i)) == s.axis(0);
    if (theirs && ((*pads)[i] != 0 || (*pads)[count + i] != 0))
      return across("it adds or removes some of them");
  }
  return s.axis(0);
}

/// Returns the axes that a pad names, in [0, rank); nullopt if they are not known.
std::optional<std::vector<std::int64_t>> constant_axes(const ir::Module& module,
                                                       const ir::Node& node) {
  const int rank = type_of(module, node).rank();
  if (node.inputs.size() <= kAxes || !node.inputs[kAxes].valid()) {
    std::vector<std::int64_t> axes(static_cast<std::size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
    return axes;
  }
  const auto named = integers_of(module, node, kAxes);
  if (!named) return std::nullopt;
  return tensor::normalise_axes(*named, rank);
}

// Padding that cuts or repeats elements fails if the axis is too short.
bool can_lift(ir::Module& module, const ir::Node& node, const std::vector<bool>& varies) {
  const auto pads = integers_of(module, node, kPads);
  const auto axes = constant_axes(module, node);
  if (!only_first_varies(varies) || !pads || !axes || pads->size() != 2 * axes->size())
    return false;
  const bool repeats = attr_of(node, "mode").text() != "constant";
  for (std::size_t i = 0; i < pads->size(); ++i) {
    const auto axis = static_cast<std::size_t>((*axes)[i % axes->size()]);
    const bool may_fail = (*pads)[i] < 0 || (repeats && (*pads)[i] != 0);
    if (may_fail && !type_of(module, node).dims[axis].is_constant()) return false;
  }
  return true;
}

Expected<ir::Lifted> lift(ir::Builder& builder, const ir::Node& node,
                          const LiftedOperands& operands) {
  const int steps = operands[0].axis;
  std::vector<std::int64_t> axes = *constant_axes(builder.module(), node);
  for (std::int64_t& axis : axes)
    if (axis >= steps) ++axis;
  const ir::ValueId value = operands.size() > kValue ? operands[kValue].value : ir::ValueId();
  SCANLOOM_TRY(
      const ir::ValueId padded,
      builder.op(pad_op, {operands[0].value, operands[kPads].value, value, list_of(builder, axes)},
                 attrs_but(node)));
  return ir::Lifted{padded, steps};
}

}  // namespace pad
}  // namespace

constinit const ir::OpDef pad_op{
    .name = "pad",
    .doc =
        "x with more elements around it, or fewer where a pad is negative. `pads` has all begins, "
        "then all ends, of `axes` or else of all axes. New elements are `value` (absent: 0), or "
        "by mode reflect, edge or wrap those of x.",
    .inputs = {{"x", ir::Accept::tensor},
               {.name = "pads", .accept = ir::Accept::index, .decides_sizes = true},
               {"value", ir::Accept::tensor, ir::Arity::optional, 0},
               {.name = "axes",
                .accept = ir::Accept::index,
                .arity = ir::Arity::optional,
                .decides_sizes = true}},
    .outputs = {"y"},
    .attrs = {{"mode", tensor::AttrKind::text}},
    .infer = pad::infer,
    .reference = pad::reference,
    .linear_work = true,
    .steps = {.axis = pad::steps},
    .lifting = {pad::can_lift, pad::lift},
};

}  // namespace scanloom::ops
