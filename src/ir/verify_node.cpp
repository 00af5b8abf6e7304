#include <algorithm>

#include "ir/infer.h"
#include "ir/infer_node.h"
#include "ir/op_def.h"
#include "ir/signature.h"
#include "ir/verify_rules.h"

namespace scanloom::ir::rules {
namespace {

// The builder and inference check this too, but their messages are about the user's mistakes.
Expected<void> check_operands(const Module& module, NodeId id) {
  const Node& node = module.node(id);
  std::vector<const Type*> types;
  for (const ValueId input : node.inputs)
    types.push_back(input.valid() ? &module.value(input).type : nullptr);
  if (auto fits = check_signature(*node.op, types, node.attrs, module.dims); !fits)
    return broken("{}: {}", module.describe(id), fits.error().text());
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::size_t def = std::min(i, node.op->inputs.size() - 1);
    if (types[i] == nullptr && node.op->inputs.begin()[def].arity == Arity::variadic)
      return broken("{}: operand {} is absent", module.describe(id), i);
  }
  return {};
}

Expected<void> check_result_count(const Module& module, NodeId id) {
  const Node& node = module.node(id);
  const std::size_t declared = node.op->outputs.size();
  const bool variadic = declared > 0 && (node.op->outputs.end() - 1)->ends_with("...");
  if (variadic ? node.outputs.size() + 1 < declared : node.outputs.size() != declared)
    return broken("{}: has {} results, but {} produces {}", module.describe(id),
                  node.outputs.size(), node.op->name, declared);
  return {};
}

Expected<void> check_tensors(const Module& module, NodeId id) {
  const Node& node = module.node(id);
  for (std::size_t i = 0; i < node.attrs.size(); ++i)
    if (node.attrs[i].kind() == tensor::AttrKind::tensor && !node.attrs[i].tensor().defined())
      return broken("{}: attribute '{}' is a tensor without storage", module.describe(id),
                    node.op->attrs.begin()[i].name);
  return {};
}

Expected<void> check_regions(const Module& module, NodeId id) {
  const Node& node = module.node(id);
  const std::size_t needed = node.op == &loop_op ? 1 : node.op == &branch_op ? 2 : 0;
  if (node.regions.size() != needed)
    return broken("{}: has {} regions, but {} needs {}", module.describe(id), node.regions.size(),
                  node.op->name, needed);
  if (node.loop.has_value() != (node.op == &loop_op))
    return broken("{}: {}", module.describe(id),
                  node.loop ? "has ports but is not a loop" : "is a loop without ports");
  return {};
}

Expected<void> check_constant(const Module& module, NodeId id) {
  const Node& node = module.node(id);
  const Tensor& tensor = node.attrs[0].tensor();
  const Type type = Type::of(tensor.dtype(), tensor.shape());
  if (!same_rank(module.value(node.outputs[0]).type, type))
    return broken("{}: the result is {}, but the value is {}", module.describe(id),
                  text(module, node.outputs[0]), to_string(type, module.dims));
  return {};
}

/// Whether a value can be of both types: equal ranks, and no axis with two numbers.
bool may_agree(const Type& a, const Type& b) {
  if (!same_rank(a, b)) return false;
  if (!a.ranked || !b.ranked) return true;
  for (std::size_t axis = 0; axis < a.dims.size(); ++axis)
    if (a.dims[axis].is_constant() && b.dims[axis].is_constant() && a.dims[axis] != b.dims[axis])
      return false;
  return true;
}

}  // namespace

Expected<void> check_node(const Module& module, NodeId node) {
  SCANLOOM_CHECK_OK(check_operands(module, node));
  SCANLOOM_CHECK_OK(check_result_count(module, node));
  SCANLOOM_CHECK_OK(check_tensors(module, node));
  SCANLOOM_CHECK_OK(check_regions(module, node));
  if (module.node(node).op == &constant_op) return check_constant(module, node);
  return {};
}

// What follows axes or sizes from node to node indexes the types of results by those of operands.
// Only types decide here: a node whose operands do not fit may be one that never runs.
Expected<void> check_result_types(const Module& module, NodeId id, DimTable& dims) {
  const Node& node = module.node(id);
  if (node.op->infer == nullptr || node.op == &constant_op) return {};
  std::vector<const Type*> types;
  for (const ValueId input : node.inputs)
    types.push_back(input.valid() ? &module.value(input).type : nullptr);
  const std::vector<const Known*> nothing(types.size());
  const auto inferred = infer_node(*node.op, types, nothing, node.attrs, node.outputs.size(), dims);
  if (!inferred) return {};
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    if (!may_agree(module.value(node.outputs[i]).type, inferred->types[i]))
      return broken("{}: result {} is {}, but {} makes {} of its operands", module.describe(id), i,
                    text(module, node.outputs[i]), node.op->name,
                    to_string(inferred->types[i], dims));
  return {};
}

}  // namespace scanloom::ir::rules
