// ReduceSum and its family, ArgMax and ArgMin. The axes are an attribute up to version 11
// (ReduceSum) or 13, then an operand.
#include <algorithm>

#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

constexpr std::pair<std::string_view, const char*> kKinds[] = {
    {"ReduceL1", "l1"},          {"ReduceL2", "l2"},
    {"ReduceLogSum", "log_sum"}, {"ReduceLogSumExp", "log_sum_exp"},
    {"ReduceMax", "max"},        {"ReduceMean", "mean"},
    {"ReduceMin", "min"},        {"ReduceProd", "prod"},
    {"ReduceSum", "sum"},        {"ReduceSumSquare", "sum_square"},
};

/// The reduced axes: an attribute of the IR's operator if they are known, an operand if not, and
/// neither for all axes.
struct ReducedAxes {
  ir::Attr attribute;
  ValueId operand;
  bool empty_is_all = true;
};

Expected<ReducedAxes> reduced_axes(NodeCtx& ctx) {
  ReducedAxes reduced;
  const int operand_since = ctx.op_type() == "ReduceSum" ? 13 : 18;
  if (ctx.version() < operand_since) {
    SCANLOOM_TRY(auto axes, ctx.integers("axes"));
    if (!axes.empty()) reduced.attribute = std::move(axes);
    return reduced;
  }
  SCANLOOM_TRY(const std::int64_t noop, ctx.integer("noop_with_empty_axes", 0));
  reduced.empty_is_all = noop == 0;
  if (ctx.has(1) && ctx.constant(1) == nullptr) {
    SCANLOOM_TRY(reduced.operand, ctx.in(1));
    return reduced;
  }
  SCANLOOM_TRY(auto axes, ctx.constant_integers(1));
  if (axes && !axes->empty())
    reduced.attribute = *std::move(axes);
  else if (noop != 0)
    reduced.attribute = std::vector<std::int64_t>();  // each element is reduced by itself
  return reduced;
}

}  // namespace

Expected<void> convert_reduce(NodeCtx& ctx) {
  const auto* const kind =
      std::ranges::find(kKinds, ctx.op_type(), &std::pair<std::string_view, const char*>::first);
  if (kind == std::end(kKinds))
    return fail(Code::internal, "unknown reduction '{}'", ctx.op_type());
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(ReducedAxes axes, reduced_axes(ctx));
  SCANLOOM_TRY(const std::int64_t keep, ctx.integer("keepdims", 1));
  std::vector<ir::NamedAttr> attrs = {{"kind", kind->second}, {"keepdims", keep != 0}};
  if (!axes.operand.valid()) {
    attrs.push_back({"axes", std::move(axes.attribute)});
    return ctx.emit(ops::reduce_op, {x}, std::move(attrs));
  }
  if (axes.empty_is_all) attrs.push_back({"empty_is_all", 1});
  return ctx.emit(ops::reduce_op, {x, axes.operand}, std::move(attrs));
}

Expected<void> convert_arg_min_max(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const std::int64_t axis, ctx.integer("axis", 0));
  SCANLOOM_TRY(const std::int64_t keep, ctx.integer("keepdims", 1));
  SCANLOOM_TRY(const std::int64_t last, ctx.integer("select_last_index", 0));
  const ir::OpDef& op = ctx.op_type() == "ArgMax" ? ops::argmax_op : ops::argmin_op;
  return ctx.emit(op, {x},
                  {{"axis", axis}, {"keepdims", keep != 0}, {"select_last_index", last != 0}});
}

}  // namespace scanloom::onnx
