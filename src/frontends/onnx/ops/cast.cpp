// Cast and CastLike.
#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

bool is_float8(DType dtype) {
  return dtype == DType::f8e4m3fn || dtype == DType::f8e4m3fnuz || dtype == DType::f8e5m2 ||
         dtype == DType::f8e5m2fnuz;
}

Expected<void> emit_cast(NodeCtx& ctx, ValueId x, DType to) {
  SCANLOOM_TRY(const std::int64_t saturate, ctx.integer("saturate", 1));
  SCANLOOM_TRY(const std::string round_mode, ctx.text("round_mode", "up"));
  if (saturate == 0 && is_float8(to))
    return fail(Code::unsupported, "casts to {} that do not saturate", dtype_onnx_name(to));
  if (round_mode != "up" && to == DType::f8e8m0)
    return fail(Code::unsupported, "casts to {} that round '{}'", dtype_onnx_name(to), round_mode);
  const DType from = ctx.type(x).dtype;
  if (from != to && to == DType::string) return ctx.emit(ops::string_format_op, {x});
  if (from != to && from == DType::string) return ctx.emit(ops::string_parse_op, {x}, {{"to", to}});
  return ctx.emit(ops::cast_op, {x}, {{"to", to}});
}

}  // namespace

Expected<void> convert_cast(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const std::int64_t number, ctx.required_integer("to"));
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
