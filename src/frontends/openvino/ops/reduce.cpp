// ReduceSum and its family. The axes are an operand; if it is empty, each element is left alone.
#include <algorithm>

#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/operands.h"

namespace scanloom::openvino {

using ir::ValueId;

namespace {

constexpr std::pair<std::string_view, const char*> kKinds[] = {
    {"ReduceL1", "l1"},         {"ReduceL2", "l2"},     {"ReduceLogicalAnd", "min"},
    {"ReduceLogicalOr", "max"}, {"ReduceMax", "max"},   {"ReduceMean", "mean"},
    {"ReduceMin", "min"},       {"ReduceProd", "prod"}, {"ReduceSum", "sum"},
};

}  // namespace

Expected<void> convert_reduce(LayerCtx& ctx) {
  const auto* const kind =
      std::ranges::find(kKinds, operation(ctx), &std::pair<std::string_view, const char*>::first);
  if (kind == std::end(kKinds))
    return fail(Code::internal, "unknown reduction '{}'", operation(ctx));
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  if (operation(ctx).starts_with("ReduceLogical") && ctx.type(x).dtype != DType::boolean)
    return invalid_model("input 0 is {}, but booleans are needed", describe_type(ctx, x));
  SCANLOOM_TRY(const bool keep, ctx.attributes.boolean("keep_dims", false));
  std::vector<ir::NamedAttr> attrs = {{"kind", kind->second}, {"keepdims", keep}};
  if (ctx.constant(1) == nullptr) {
    SCANLOOM_TRY(const ValueId axes, index_list(ctx, 1));
    return ctx.emit(ops::reduce_op, {x, axes}, std::move(attrs));
  }
  SCANLOOM_TRY(auto axes, ctx.constant_integers(1));
  attrs.push_back({"axes", std::move(axes)});
  return ctx.emit(ops::reduce_op, {x}, std::move(attrs));
}

}  // namespace scanloom::openvino
