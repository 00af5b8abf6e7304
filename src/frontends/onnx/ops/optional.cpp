// Optional, OptionalHasElement, OptionalGetElement. Since version 18 the last two also accept
// tensors and sequences, which count as their own element.
#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/types.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;
using tensor::Type;
using tensor::Wrap;

namespace {

bool is_optional(const Type& type) {
  return !type.is_tensor() && type.wraps.front() == Wrap::optional;
}

/// Emits an empty optional of the type given by the attribute.
Expected<void> emit_empty(NodeCtx& ctx) {
  SCANLOOM_TRY(const AttributeProto* const attribute, ctx.attribute("type", AttributeKind::type));
  if (attribute == nullptr || attribute->types.empty())
    return invalid_model("without an input, attribute 'type' is needed");
  Expected<Type> type = make_type(attribute->types.front(), ctx.module().dims);
  if (!type) return std::move(type).error().at("attribute 'type'");
  std::vector<std::int64_t> wraps;
  for (const Wrap wrap : type->wraps) wraps.push_back(static_cast<std::int64_t>(wrap));
  return ctx.emit(ops::optional_empty_op, {},
                  {{"dtype", type->dtype}, {"wraps", std::move(wraps)}});
}

}  // namespace

Expected<void> convert_optional(NodeCtx& ctx) {
  if (!ctx.has(0)) return emit_empty(ctx);
  ctx.ignore("type");
  SCANLOOM_TRY(const ValueId item, ctx.in(0));
  return ctx.emit(ops::optional_op, {item});
}

Expected<void> convert_optional_has_element(NodeCtx& ctx) {
  if (!ctx.has(0)) {
    ctx.set_constant(0, tensor::Tensor::scalar<bool>(false));
    return {};
  }
  SCANLOOM_TRY(const ValueId value, ctx.in(0));
  if (is_optional(ctx.type(value))) return ctx.emit(ops::optional_has_element_op, {value});
  ctx.set_constant(0, tensor::Tensor::scalar<bool>(true));
  return {};
}

Expected<void> convert_optional_get_element(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId value, ctx.in(0));
  if (is_optional(ctx.type(value))) return ctx.emit(ops::optional_get_element_op, {value});
  ctx.alias_output(0);
  return {};
}

}  // namespace scanloom::onnx
