// ReduceSum and its family: the axes are an attribute up to version 11 (ReduceSum) or 13, and a
// constant operand after that; ArgMax and ArgMin.
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

/// The attribute `axes` of the reduction; absent: all axes.
Expected<ir::Attr> reduced_axes(NodeCtx& ctx) {
  const int operand_since = ctx.op_type() == "ReduceSum" ? 13 : 18;
  if (ctx.version() < operand_since) {
    SCANLOOM_TRY(auto axes, ctx.integers("axes"));
    return axes.empty() ? ir::Attr() : ir::Attr(std::move(axes));
  }
  SCANLOOM_TRY(const std::int64_t noop, ctx.integer("noop_with_empty_axes", 0));
  SCANLOOM_TRY(auto axes, ctx.constant_integers(1));
  if (axes && !axes->empty()) return ir::Attr(*std::move(axes));
  // No axes: each element is reduced alone, or all of them together.
  return noop != 0 ? ir::Attr(std::vector<std::int64_t>()) : ir::Attr();
}

}  // namespace

Expected<void> convert_reduce(NodeCtx& ctx) {
  const auto* const kind =
      std::ranges::find(kKinds, ctx.op_type(), &std::pair<std::string_view, const char*>::first);
  if (kind == std::end(kKinds)) return fail(Code::internal, "no reduction '{}'", ctx.op_type());
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(auto axes, reduced_axes(ctx));
  SCANLOOM_TRY(const std::int64_t keep, ctx.integer("keepdims", 1));
  return ctx.emit(ops::reduce_op, {x},
                  {{"kind", kind->second}, {"axes", std::move(axes)}, {"keepdims", keep != 0}});
}

Expected<void> convert_arg_extreme(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const std::int64_t axis, ctx.integer("axis", 0));
  SCANLOOM_TRY(const std::int64_t keep, ctx.integer("keepdims", 1));
  SCANLOOM_TRY(const std::int64_t last, ctx.integer("select_last_index", 0));
  const ir::OpDef& op = ctx.op_type() == "ArgMax" ? ops::argmax_op : ops::argmin_op;
  return ctx.emit(op, {x},
                  {{"axis", axis}, {"keepdims", keep != 0}, {"select_last_index", last != 0}});
}

}  // namespace scanloom::onnx
