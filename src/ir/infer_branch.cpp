// Inference of branches: the region that is known to run, or both regions and the join of their
// results.
#include "ir/infer_driver.h"

namespace scanloom::ir {

Expected<void> InferDriver::enter_branch(NodeId id) {
  const Node& node = module_.node(id);
  if (node.regions.size() != 2 || node.inputs.empty())
    return fail(Code::internal, "a branch has two regions and a condition, not {} and {} operands",
                node.regions.size(), node.inputs.size());
  for (const ValueId input : node.inputs)
    if (!input.valid()) return fail(Code::internal, "an operand of a branch is absent");
  for (const RegionId region : node.regions)
    if (module_.region(region).args.size() + 1 != node.inputs.size() ||
        module_.region(region).yields.size() != node.outputs.size())
      return fail(Code::internal,
                  "a region with {} arguments and {} yields, but the branch has {} and {}",
                  module_.region(region).args.size(), module_.region(region).yields.size(),
                  node.inputs.size() - 1, node.outputs.size());
  const Type& condition = type(node.inputs[0]);
  if (condition.dtype != DType::boolean || !condition.is_tensor())
    return invalid_model("the condition must be boolean, not {}", to_string(condition, dims_));
  if (condition.is_static() && condition.shape().elements() != 1)
    return invalid_model("the condition is {}, which must be one element",
                         to_string(condition, dims_));
  const Known* value = known(node.inputs[0]).get();
  if (value == nullptr || !value->tensor || value->tensor->elements() != 1) {
    // A body is inferred again as its sizes widen, and may then know less than before.
    result_.taken_branch[id.index] = -1;
    push_region(id, 0, false);
    return {};
  }
  const std::size_t which = value->tensor->as<bool>()[0] ? 0 : 1;
  result_.taken_branch[id.index] = static_cast<std::int8_t>(which);
  push_region(id, which, true);
  return {};
}

void InferDriver::push_region(NodeId id, std::size_t which, bool known) {
  const Node& node = module_.node(id);
  const Region& region = module_.region(node.regions[which]);
  for (std::size_t i = 0; i < region.args.size(); ++i) copy(region.args[i], node.inputs[i + 1]);
  result_.visited[node.regions[which].index] = true;
  const InferFrame& outer = frames_.back();
  frames_.push_back({.region = node.regions[which],
                     .owner = id,
                     .certain = outer.certain && known,
                     .may_defer = outer.may_defer || !known});
}

Expected<void> InferDriver::leave_branch(NodeId id) {
  const Node& node = module_.node(id);
  const RegionId left = frames_.back().region;
  frames_.pop_back();
  if (result_.taken_branch[id.index] < 0) {
    if (left == node.regions[1]) return join_regions(id);
    push_region(id, 1, false);
    return {};
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    copy(node.outputs[i], module_.region(left).yields[i]);
  return {};
}

Expected<void> InferDriver::join_regions(NodeId id) {
  const Node& node = module_.node(id);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const Type& a = type(module_.region(node.regions[0]).yields[i]);
    const Type& b = type(module_.region(node.regions[1]).yields[i]);
    if (!same_kind(a, b))
      return invalid_model("result {} is {} in one branch and {} in the other", i,
                           to_string(a, dims_), to_string(b, dims_));
    result_.varying_sizes |= a != b;
    set(node.outputs[i], join(a, b, dims_));
  }
  return {};
}

}  // namespace scanloom::ir
