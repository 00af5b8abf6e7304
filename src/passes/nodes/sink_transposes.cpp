// Moves transposes below element-wise nodes, concatenations and pads, towards transposes that undo
// them. Models whose layers keep channels last transpose before and after each convolution; without
// these pairs, a convolution and what follows it become one call. It runs after canonicalise, which
// removes the pairs that have met.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ops/ops.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Node;
using ir::NodeId;
using ir::ValueId;
using Order = std::vector<std::int64_t>;

/// The nodes that read each value, by ValueId.
using ReadersByValue = std::vector<std::vector<NodeId>>;

ReadersByValue readers_of(const ir::Module& module) {
  ReadersByValue readers(module.value_count());
  for (const ir::RegionId region : ir::regions_outer_first(module, module.top()))
    for (const NodeId node : module.region(region).nodes)
      for (const ValueId input : module.node(node).inputs)
        if (input.valid()) readers[input.index].push_back(node);
  return readers;
}

Order inverse_of(const Order& order) {
  Order inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return inverse;
}

bool has_single_element(const ir::Type& type) {
  return type.ranked && std::ranges::all_of(type.dims, [](const tensor::Dim& size) {
           return size == tensor::Dim(1);
         });
}

/// The begins, then the ends of a pad of all axes; nullopt if they are not constant.
std::optional<Order> pads_of(const ir::Module& module, const Node& node) {
  constexpr std::size_t kPads = 1, kAxes = 3;
  if (node.op != &ops::pad_op || (node.inputs.size() > kAxes && node.inputs[kAxes].valid()))
    return std::nullopt;
  auto pads = ops::integers_of(module, node, kPads);
  const auto rank = static_cast<std::size_t>(module.value(node.outputs[0]).type.rank());
  return pads && pads->size() == 2 * rank ? pads : std::nullopt;
}

/// Whether a transpose of all operands may as well be one of the result.
bool passes_transposes(const ir::Module& module, const Node& node) {
  if (node.outputs.size() != 1 || !module.value(node.outputs[0]).type.ranked) return false;
  if (node.op == &ops::concat_op || pads_of(module, node)) return true;
  return node.op->access == ir::Access::pointwise && node.op->scalar != nullptr &&
         node.op->effects == ir::Effects::pure;
}

/// Whether a transpose by `order` that replaces `value` would meet one that undoes it, after a few
/// more nodes.
bool meets_inverse(const ir::Module& module, const ReadersByValue& readers, ValueId value,
                   const Order& order) {
  constexpr std::size_t kMaxValues = 32, kMaxReaders = 64;
  const Order inverse = inverse_of(order);
  std::vector<ValueId> reached{value};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    if (reached[i].index >= readers.size() || readers[reached[i].index].size() > kMaxReaders)
      continue;
    for (const NodeId id : readers[reached[i].index]) {
      const Node& reader = module.node(id);
      if (reader.op == &ops::transpose_op && order_of(module, reader) == inverse) return true;
      if (reached.size() < kMaxValues && passes_transposes(module, reader))
        reached.push_back(reader.outputs[0]);
    }
  }
  return false;
}

/// The order in which operands of the node are transposed; nullopt if these are several, or none.
std::optional<Order> common_order(const ir::Module& module, const Node& node) {
  const int rank = module.value(node.outputs[0]).type.rank();
  std::optional<Order> common;
  // The other operands of a pad have no axes of x.
  const auto operands =
      std::span(node.inputs).first(node.op == &ops::pad_op ? 1 : node.inputs.size());
  for (const ValueId input : operands) {
    if (!input.valid()) continue;
    const Node* const transpose = made_by(module, input, ops::transpose_op);
    if (transpose == nullptr) {
      const bool keeps =
          node.op != &ops::concat_op &&
          (constant_of(module, input) != nullptr || has_single_element(module.value(input).type));
      if (!keeps) return std::nullopt;
      continue;
    }
    std::optional<Order> order = order_of(module, *transpose);
    if (!order || order->size() != static_cast<std::size_t>(rank)) return std::nullopt;
    if (common && common != order) return std::nullopt;
    common = std::move(order);
  }
  return common;
}

/// Returns what the node reads instead of an operand once its result is transposed.
Expected<ValueId> untransposed(Rewriter& rewriter, ValueId input, const Order& order) {
  if (!input.valid()) return input;
  if (const Node* const transpose = made_by(rewriter.module(), input, ops::transpose_op))
    return transpose->inputs[0];
  if (has_single_element(rewriter.type(input))) return input;
  const auto missing = order.size() - rewriter.type(input).dims.size();
  if (missing > 0) {
    Order axes(missing);
    for (std::size_t i = 0; i < missing; ++i) axes[i] = static_cast<std::int64_t>(i);
    SCANLOOM_TRY(input,
                 rewriter.build().op(ops::unsqueeze_op, {input}, {{"axes", std::move(axes)}}));
  }
  return rewriter.build().op(ops::transpose_op, {input}, {{"perm", inverse_of(order)}});
}

/// The operands of a pad of the untransposed input.
std::vector<ValueId> untransposed_pad(Rewriter& rewriter, const Node& node, const Order& order) {
  const Order pads = *pads_of(rewriter.module(), node);
  Order moved(pads.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto source = static_cast<std::size_t>(order[i]);
    moved[source] = pads[i];
    moved[order.size() + source] = pads[order.size() + i];
  }
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = made_by(rewriter.module(), node.inputs[0], ops::transpose_op)->inputs[0];
  inputs[1] = ops::list_of(rewriter.build(), moved);
  return inputs;
}

Expected<std::vector<ValueId>> untransposed_inputs(Rewriter& rewriter, const Node& node,
                                                   const Order& order) {
  if (node.op == &ops::pad_op) return untransposed_pad(rewriter, node, order);
  std::vector<ValueId> inputs;
  for (const ValueId input : node.inputs) {
    SCANLOOM_TRY(const ValueId source, untransposed(rewriter, input, order));
    inputs.push_back(source);
  }
  return inputs;
}

Expected<bool> sink(Rewriter& rewriter, const ReadersByValue& readers, NodeId id) {
  const Node node = rewriter.module().node(id);  // by value: adding nodes may move it
  if (!passes_transposes(rewriter.module(), node)) return false;
  const auto order = common_order(rewriter.module(), node);
  if (!order || !meets_inverse(rewriter.module(), readers, node.outputs[0], *order)) return false;
  SCANLOOM_TRY(std::vector<ValueId> inputs, untransposed_inputs(rewriter, node, *order));
  std::vector<ir::NamedAttr> attrs = attrs_of(node);
  if (node.op == &ops::concat_op) {
    std::int64_t axis = attr_of(node, "axis").integer();
    if (axis < 0) axis += static_cast<std::int64_t>(order->size());
    attrs = {{"axis", (*order)[static_cast<std::size_t>(axis)]}};
  }
  SCANLOOM_TRY(const ValueId result, rewriter.build().op(*node.op, std::move(inputs), attrs));
  SCANLOOM_TRY(const ValueId transposed,
               rewriter.build().op(ops::transpose_op, {result}, {{"perm", *order}}));
  rewriter.replace(node.outputs[0], transposed);
  return true;
}

}  // namespace

Expected<Change> sink_transposes(ir::Module& module) {
  const ReadersByValue readers = readers_of(module);
  return Rewriter(module).sweep(
      [&](Rewriter& rewriter, NodeId id) { return sink(rewriter, readers, id); });
}

}  // namespace scanloom::passes
