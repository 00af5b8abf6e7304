// CastLike and Cast, whose type is text up to version 5.
#include <algorithm>

#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

/// The result of a non-saturating cast to an 8-bit float for numbers beyond `limit`, which is
/// halfway between the largest number and what would be the next one.
struct Overflow {
  DType to;
  double limit;
  bool includes_limit;              // where rounding to even goes up at the limit
  std::uint8_t positive, negative;  // NaN or infinity
};

constexpr Overflow kOverflows[] = {
    {DType::f8e4m3fn, 464, false, 0x7f, 0xff},
    {DType::f8e4m3fnuz, 248, true, 0x80, 0x80},
    {DType::f8e5m2, 61440, true, 0x7c, 0xfc},
    {DType::f8e5m2fnuz, 61440, true, 0x80, 0x80},
};

Expected<ValueId> of_bits(NodeCtx& ctx, DType dtype, std::uint8_t bits) {
  SCANLOOM_TRY(tensor::Tensor made, tensor::Tensor::zeros(dtype, {}));
  *static_cast<std::uint8_t*>(made.mutable_data()) = bits;
  return ctx.builder().constant(std::move(made));
}

Expected<void> emit_overflowing_cast(NodeCtx& ctx, ValueId x, const Overflow& overflow) {
  const DType own = ctx.type(x).dtype;
  const bool is_wide = is_floating_point(own) && dtype_bytes(own) > 1;
  SCANLOOM_TRY(const ValueId value, ctx.cast(x, is_wide ? own : DType::f32));
  SCANLOOM_TRY(const ValueId limit, ctx.scalar(overflow.limit, ctx.type(value).dtype));
  SCANLOOM_TRY(const ValueId zero, ctx.scalar(0, ctx.type(value).dtype));
  SCANLOOM_TRY(const ValueId size, ctx.op(ops::abs_op, {value}));
  const ir::OpDef& beyond = overflow.includes_limit ? ops::less_equal_op : ops::less_op;
  SCANLOOM_TRY(const ValueId too_large, ctx.op(beyond, {limit, size}));
  SCANLOOM_TRY(const ValueId is_positive, ctx.op(ops::less_op, {zero, value}));
  SCANLOOM_TRY(const ValueId positive, of_bits(ctx, overflow.to, overflow.positive));
  SCANLOOM_TRY(const ValueId negative, of_bits(ctx, overflow.to, overflow.negative));
  SCANLOOM_TRY(const ValueId instead, ctx.op(ops::where_op, {is_positive, positive, negative}));
  SCANLOOM_TRY(const ValueId rounded, ctx.op(ops::cast_op, {value}, {{"to", overflow.to}}));
  return ctx.emit(ops::where_op, {too_large, instead, rounded});
}

/// Type names of the file format, in the order of their numbers.
constexpr std::string_view kTypeNames[] = {
    "UNDEFINED", "FLOAT", "UINT8",   "INT8",   "UINT16", "INT16",  "INT32",     "INT64",
    "STRING",    "BOOL",  "FLOAT16", "DOUBLE", "UINT32", "UINT64", "COMPLEX64", "COMPLEX128"};

Expected<std::int64_t> wanted_number(NodeCtx& ctx) {
  if (ctx.version() >= 6) return ctx.required_integer("to");
  if (!ctx.has_attribute("to")) return invalid_model("attribute 'to' is missing");
  SCANLOOM_TRY(const std::string name, ctx.text("to", ""));
  const auto* const found = std::ranges::find(kTypeNames, name);
  if (found == std::end(kTypeNames))
    return invalid_model("attribute 'to' is '{}', which is not an element type", name);
  return found - std::begin(kTypeNames);
}

Expected<void> emit_cast(NodeCtx& ctx, ValueId x, DType to) {
  SCANLOOM_TRY(const std::int64_t saturate, ctx.integer("saturate", 1));
  SCANLOOM_TRY(const std::string round_mode, ctx.text("round_mode", "up"));
  if (const auto* const overflow = std::ranges::find(kOverflows, to, &Overflow::to);
      saturate == 0 && overflow != std::end(kOverflows))
    return emit_overflowing_cast(ctx, x, *overflow);
  if (round_mode != "up" && to == DType::f8e8m0)
    return fail(Code::unsupported, "casts to {} with rounding '{}'", dtype_onnx_name(to),
                round_mode);
  const DType from = ctx.type(x).dtype;
  if (from != to && to == DType::string) return ctx.emit(ops::string_format_op, {x});
  if (from != to && from == DType::string) return ctx.emit(ops::string_parse_op, {x}, {{"to", to}});
  return ctx.emit(ops::cast_op, {x}, {{"to", to}});
}

}  // namespace

Expected<void> convert_cast(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const std::int64_t number, wanted_number(ctx));
  Expected<DType> to = dtype_of_number(number);
  if (!to) return std::move(to).error().at("attribute 'to'");
  return emit_cast(ctx, x, *to);
}

Expected<void> convert_cast_like(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ValueId like, ctx.in(1));
  return emit_cast(ctx, x, ctx.type(like).dtype);
}

}  // namespace scanloom::onnx
