// Decomposes softmax and its logarithm into reductions and element-wise operators, for which there
// are kernels and machine code. The bits are those of the reference, which computes in the same
// order. It is separate from decompose_reductions, since gradients and stable forms need softmax as
// a whole. It runs before merging, which joins equal parts.
#include "ops/composer.h"
#include "ops/ops.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Node;
using ir::ValueId;

/// exp(x - m) * (1 / s), or (x - m) - log(s), where m is the greatest element along the axis and s
/// the sum of exp(x - m), which is at least 1.
Expected<ValueId> spelled(ir::Builder& build, const Node& node) {
  const std::vector<std::int64_t> axes = {node.attrs[0].integer()};
  const auto reduced = [&](ValueId value, const char* kind) {
    return build.op(ops::reduce_op, {value}, {{"kind", kind}, {"axes", axes}, {"keepdims", 1}});
  };
  SCANLOOM_TRY(const ValueId greatest, reduced(node.inputs[0], "max"));
  SCANLOOM_TRY(const ValueId shifted, build.op(ops::sub_op, {node.inputs[0], greatest}));
  SCANLOOM_TRY(const ValueId exponentials, build.op(ops::exp_op, {shifted}));
  SCANLOOM_TRY(const ValueId sum, reduced(exponentials, "sum"));
  if (node.op == &ops::softmax_op) {
    const ir::Type type = build.module().value(sum).type;
    SCANLOOM_TRY(tensor::Tensor one, ops::scalar_of(1, type.dtype));
    SCANLOOM_TRY(const ValueId inverse,
                 build.op(ops::div_op, {build.constant(std::move(one)), sum}));
    return build.op(ops::mul_op, {exponentials, inverse});
  }
  SCANLOOM_TRY(const ValueId logarithm, build.op(ops::log_op, {sum}));
  return build.op(ops::sub_op, {shifted, logarithm});
}

Expected<bool> decompose_softmax_node(Rewriter& rewriter, ir::NodeId id) {
  const Node node = rewriter.module().node(id);  // by value: adding nodes may move it
  if (node.op != &ops::softmax_op && node.op != &ops::log_softmax_op) return false;
  const ir::Type& x = rewriter.type(node.inputs[0]);
  // Other types are computed in wider ones and rounded once.
  if ((x.dtype != DType::f32 && x.dtype != DType::f64) || !x.ranked) return false;
  SCANLOOM_TRY(const ValueId written, spelled(rewriter.build(), node));
  rewriter.replace(node.outputs[0], written);
  return true;
}

}  // namespace

Expected<Change> decompose_softmax(ir::Module& module) {
  return Rewriter(module).sweep(decompose_softmax_node);
}

}  // namespace scanloom::passes
