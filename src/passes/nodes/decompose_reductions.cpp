// Decomposes reductions into others for which there are kernels and machine code. The bits are
// those of the reference, which computes in the same order. It runs after canonicalise, which turns
// axes into attributes, and before merging, which joins equal parts.
#include <numeric>

#include "opmath/reduction.h"
#include "ops/ops.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Node;
using ir::ValueId;

/// log(sum(exp(x - m))) + m, where m is the greatest element; m itself if that is infinite or NaN.
class LogSumExp {
 public:
  LogSumExp(Rewriter& rewriter, const Node& node) : rewriter_(rewriter), node_(node) {}

  Expected<ValueId> write() {
    ir::Builder& build = rewriter_.build();
    const ValueId x = node_.inputs[0];
    const bool keeps = node_.attrs[tensor::kReduceKeepdims].integer() != 0;
    SCANLOOM_TRY(const ValueId most, reduced(x, "max"));
    SCANLOOM_TRY(const ValueId greatest,
                 keeps ? most : build.op(ops::unsqueeze_op, {most}, {{"axes", axes()}}));
    SCANLOOM_TRY(const ValueId less, build.op(ops::sub_op, {x, greatest}));
    SCANLOOM_TRY(const ValueId exponentials, build.op(ops::exp_op, {less}));
    SCANLOOM_TRY(const ValueId sum, reduced(exponentials, "sum"));
    SCANLOOM_TRY(const ValueId logarithm, build.op(ops::log_op, {sum}));
    SCANLOOM_TRY(const ValueId total, build.op(ops::add_op, {most, logarithm}));
    SCANLOOM_TRY(
        const ValueId infinite,
        build.op(ops::is_inf_op, {most}, {{"detect_negative", 1}, {"detect_positive", 1}}));
    SCANLOOM_TRY(const ValueId undefined, build.op(ops::is_nan_op, {most}));
    SCANLOOM_TRY(const ValueId stays, build.op(ops::logical_or_op, {infinite, undefined}));
    return build.op(ops::where_op, {stays, most, total});
  }

 private:
  Expected<ValueId> reduced(ValueId x, const char* kind) {
    return rewriter_.build().op(ops::reduce_op, {x},
                                {{"kind", kind},
                                 {"axes", node_.attrs[tensor::kReduceAxes]},
                                 {"keepdims", node_.attrs[tensor::kReduceKeepdims]},
                                 {"empty_is_all", node_.attrs[tensor::kReduceEmptyIsAll]}});
  }

  /// Returns the reduced axes; without the attribute all axes.
  [[nodiscard]] std::vector<std::int64_t> axes() const {
    if (node_.attrs[tensor::kReduceAxes].present())
      return node_.attrs[tensor::kReduceAxes].integers();
    std::vector<std::int64_t> all(rewriter_.type(node_.inputs[0]).dims.size());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  Rewriter& rewriter_;
  const Node& node_;
};

Expected<bool> spell(Rewriter& rewriter, ir::NodeId id) {
  const Node node = rewriter.module().node(id);  // by value: adding nodes may move it
  if (node.op != &ops::reduce_op || node.attrs[tensor::kReduceKind].text() != "log_sum_exp")
    return false;
  const ir::Type& x = rewriter.type(node.inputs[0]);
  // Other types are computed in wider ones and rounded once.
  const bool is_wide = x.dtype == DType::f32 || x.dtype == DType::f64;
  const bool has_operand = node.inputs.size() > 1 && node.inputs[1].valid();
  if (!is_wide || !x.ranked || has_operand) return false;
  SCANLOOM_TRY(const ValueId written, LogSumExp(rewriter, node).write());
  rewriter.replace(node.outputs[0], written);
  return true;
}

}  // namespace

Expected<Change> decompose_reductions(ir::Module& module) { return Rewriter(module).sweep(spell); }

}  // namespace scanloom::passes
