#include "frontends/openvino/ops/operands.h"

#include <algorithm>

#include "frontends/openvino/converter.h"
#include "frontends/openvino/wide_sizes.h"
#include "tensor/axis_words.h"

namespace scanloom::openvino {

using ir::ValueId;

namespace {

Expected<int> axis_of(std::string_view what, std::int64_t given, int rank) {
  const auto axis = tensor::normalise_axis(given, rank);
  if (axis) return *axis;
  return invalid_model("{} is {}, {}", what, given, tensor::outside_axes(rank));
}

}  // namespace

std::string_view operation(const LayerCtx& ctx) { return find_converter(ctx.layer().type)->type; }

Expected<ValueId> index_operand(LayerCtx& ctx, int i) {
  SCANLOOM_TRY(const ValueId x, ctx.in(i));
  const DType dtype = ctx.type(x).dtype;
  if (!is_integer(dtype))
    return invalid_model("input {} is {}, but integers are needed", i, describe_type(ctx, x));
  if (dtype == DType::i64) return x;
  if (const tensor::Tensor* const known = ctx.constant(i))
    if (const auto integers = tensor::to_integers(*known))
      return ctx.builder().constant(tensor::Tensor::of<std::int64_t>(known->shape(), *integers));
  const ValueId wide = widest(ctx.builder(), x);
  if (wide != x) return wide;
  return ctx.op(ops::cast_op, {x}, {{"to", DType::i64}});
}

Expected<ValueId> indices_operand(LayerCtx& ctx, int i) {
  SCANLOOM_TRY(const ValueId x, ctx.in(i));
  return ctx.type(x).dtype == DType::i32 ? x : index_operand(ctx, i);
}

Expected<ValueId> index_list(LayerCtx& ctx, int i) {
  SCANLOOM_TRY(const ValueId x, index_operand(ctx, i));
  const tensor::Type& type = ctx.type(x);
  if (type.ranked && type.rank() > 1)
    return invalid_model("input {} is {}, but a list is needed", i, describe_type(ctx, x));
  if (!type.ranked || type.rank() == 1) return x;
  ops::Composer c(ctx.builder());
  const ValueId list = c.unsqueeze(x, {0});
  SCANLOOM_CHECK_OK(c.done());
  return list;
}

Expected<ValueId> index_scalar(LayerCtx& ctx, int i) {
  SCANLOOM_TRY(const ValueId x, index_operand(ctx, i));
  const tensor::Type& type = ctx.type(x);
  if (type.is_static() && type.shape().elements() != 1)
    return invalid_model("input {} is {}, but one element is needed", i, describe_type(ctx, x));
  if (type.ranked && type.rank() == 0) return x;
  ops::Composer c(ctx.builder());
  const ValueId scalar = c.reshape(x, c.list({}));
  SCANLOOM_CHECK_OK(c.done());
  return scalar;
}

Expected<int> axis_operand(LayerCtx& ctx, int i, int rank) {
  SCANLOOM_TRY(const std::int64_t given, ctx.constant_integer(i));
  return axis_of(fmt::format("input {}, the axis,", i), given, rank);
}

Expected<std::vector<std::int64_t>> axes_operand(LayerCtx& ctx, int i, int rank) {
  SCANLOOM_TRY(const auto given, ctx.constant_integers(i));
  std::vector<std::int64_t> axes;
  for (const std::int64_t one : given) {
    SCANLOOM_TRY(const int axis, axis_of(fmt::format("an axis of input {}", i), one, rank));
    if (std::ranges::find(axes, axis) != axes.end())
      return invalid_model("input {} names axis {} twice", i, axis);
    axes.push_back(axis);
  }
  return axes;
}

Expected<int> axis_attribute(LayerCtx& ctx, std::string_view name,
                             std::optional<std::int64_t> fallback, int rank) {
  SCANLOOM_TRY(const std::int64_t given,
               fallback ? ctx.attributes.integer(name, *fallback) : ctx.attributes.integer(name));
  return axis_of(fmt::format("attribute '{}'", name), given, rank);
}

Expected<void> set_indices(LayerCtx& ctx, ops::Composer& c, int i, ValueId value,
                           std::string_view attribute) {
  SCANLOOM_TRY(const DType dtype, ctx.attributes.dtype(attribute, DType::i64));
  if (!is_integer(dtype))
    return invalid_model("attribute '{}' is {}, but a type of integers is needed", attribute,
                         dtype_name(dtype));
  const ValueId cast = c.cast(value, dtype);
  SCANLOOM_CHECK_OK(c.done());
  ctx.set_output(i, cast);
  return {};
}

void limit_elements(ops::Composer& c, ValueId sizes) {
  if (!c.ok()) return;
  const auto known = c.builder().known(sizes);
  if (known != nullptr && (known->integers || known->tensor)) return;  // checked by binding
  const ValueId least = c.max(sizes, c.number(0));
  // In floating point, which does not overflow.
  const ValueId product = c.reduce_all(c.cast(least, DType::f64), "prod");
  const ValueId total = c.cast(c.min(product, c.scalar(0x1p62, DType::f64)), DType::i64);
  c.op(ops::check_equal_op, {c.min(total, c.number(std::int64_t{1} << 40)), total},
       {{"text", "a result can have {} elements, but the computed sizes give at least {}"}});
}

Expected<std::int64_t> list_length(LayerCtx& ctx, int i) {
  SCANLOOM_TRY(const ValueId x, ctx.in(i));
  const tensor::Type& type = ctx.type(x);
  if (type.ranked && type.rank() != 1)
    return invalid_model("input {} is {}, but a list is needed", i, describe_type(ctx, x));
  if (!type.is_static())
    return fail(Code::unsupported, "input {} is {}, a list of unknown length", i,
                describe_type(ctx, x));
  return type.shape()[0];
}

}  // namespace scanloom::openvino
