// Computes products, convolutions, sums and softmax of f16 and bf16 in f32 between casts, for which
// there are kernels and machine code. The bits are those of the reference, which widens every
// element, computes in f32 and rounds once. Constants are widened when a model is loaded.
// Element-wise operators have machine code already. It runs before the passes that decompose
// reductions, which skip f16 and bf16.
#include "ops/ops.h"
#include "passes/rewrite/rewriter.h"
#include "tensor/half.h"

namespace scanloom::passes {
namespace {

using ir::Module;
using ir::Node;
using ir::Type;
using ir::ValueId;

Expected<bool> widen(Rewriter& rewriter, ir::NodeId id) {
  Module& module = rewriter.module();
  const Node node = module.node(id);  // by value: adding nodes may move it
  if (node.op->widens_f16 == nullptr || !node.op->widens_f16(node.attrs)) return false;
  Type type = rewriter.type(node.outputs[0]);
  const DType half = type.dtype;
  if (!tensor::is_half(half)) return false;
  ir::Builder& build = rewriter.build();
  std::vector<ValueId> inputs = node.inputs;
  for (ValueId& input : inputs) {
    if (!input.valid() || rewriter.type(input).dtype != half) continue;
    SCANLOOM_TRY(input, build.op(ops::cast_op, {input}, {{"to", DType::f32}}));
  }
  type.dtype = DType::f32;
  const ir::NodeId wide = module.add_node(build.region(), *node.op, std::move(inputs), node.attrs,
                                          {std::move(type)}, node.location);
  SCANLOOM_TRY(const ValueId rounded,
               build.op(ops::cast_op, {module.node(wide).outputs[0]}, {{"to", half}}));
  rewriter.replace(node.outputs[0], rounded);
  return true;
}

}  // namespace

Expected<Change> widen_f16(ir::Module& module) { return Rewriter(module).sweep(widen); }

}  // namespace scanloom::passes
