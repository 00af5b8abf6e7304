// Cast, up to version 5 to a type that is written as text, and CastLike.
#include <algorithm>

#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

bool is_float8(DType dtype) {
  return dtype == DType::f8e4m3fn || dtype == DType::f8e4m3fnuz || dtype == DType::f8e5m2 ||
         dtype == DType::f8e5m2fnuz;
}

/// As the file format names them, in the order of its numbers.
constexpr std::string_view kTypeNames[] = {
    "UNDEFINED", "FLOAT", "UINT8",   "INT8",   "UINT16", "INT16",  "INT32",     "INT64",
    "STRING",    "BOOL",  "FLOAT16", "DOUBLE", "UINT32", "UINT64", "COMPLEX64", "COMPLEX128"};

Expected<std::int64_t> wanted_number(NodeCtx& ctx) {
  if (ctx.version() >= 6) return ctx.required_integer("to");
  if (!ctx.has_attribute("to")) return invalid_model("attribute 'to' is missing");
  SCANLOOM_TRY(const std::string name, ctx.text("to", ""));
  const auto* const found = std::ranges::find(kTypeNames, name);
  if (found == std::end(kTypeNames))
    return invalid_model("attribute 'to' is '{}', which names no element type", name);
  return found - std::begin(kTypeNames);
}

Expected<void> emit_cast(NodeCtx& ctx, ValueId x, DType to) {
  SCANLOOM_TRY(const std::int64_t saturate, ctx.integer("saturate", 1));
  SCANLOOM_TRY(const std::string round_mode, ctx.text("round_mode", "up"));
  if (saturate == 0 && is_float8(to))
    return fail(Code::unsupported, "casts to {} that do not saturate", dtype_onnx_name(to));
  if (round_mode != "up" && to == DType::f8e8m0)
    return fail(Code::unsupported, "casts to {} that round '{}'", dtype_onnx_name(to), round_mode);
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
