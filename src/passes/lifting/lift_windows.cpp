// Lifting of convolutions and pools: the steps join the batch. If each step has a batch of its own,
// its elements follow those of the step before.
#include <algorithm>

#include "ir/walk.h"
#include "ops/ops.h"
#include "passes/lifting/lift_rules.h"

namespace scanloom::passes {

using ir::Builder;
using ir::Dim;
using ir::Module;
using ir::Node;
using ir::Type;
using ir::ValueId;

namespace {

/// Whether all sizes except the first are numbers other than 0.
bool is_known_behind_batch(const Type& type) {
  return type.rank() > 0 && std::all_of(type.dims.begin() + 1, type.dims.end(),
                                        [](Dim dim) { return dim.is_constant() && dim != Dim(0); });
}

bool is_read(const Module& module, const Node& node, ValueId value) {
  const ir::Region& region = module.region(node.parent);
  return std::ranges::find(region.yields, value) != region.yields.end() ||
         std::ranges::any_of(region.nodes, [&](ir::NodeId id) {
           const std::vector<ValueId>& inputs = module.node(id).inputs;
           return std::ranges::find(inputs, value) != inputs.end();
         });
}

std::vector<std::int64_t> sizes_from(const Type& type, std::size_t axis) {
  std::vector<std::int64_t> sizes;
  for (; axis < type.dims.size(); ++axis) sizes.push_back(type.dims[axis].value());
  return sizes;
}

/// Joins steps and batch into one axis.
Expected<ValueId> joined(Builder& builder, ValueId value) {
  const Type type = builder.module().value(value).type;
  if (type.dims[1] == Dim(1))
    return builder.op(ops::squeeze_op, {value}, {{"axes", std::vector<std::int64_t>{1}}});
  std::vector<std::int64_t> shape = sizes_from(type, 2);
  shape.insert(shape.begin(), -1);
  return builder.op(ops::reshape_op, {value, list_of(builder, shape)}, {{"allowzero", 0}});
}

/// The opposite of `joined`. `like` has the wanted steps and batch.
Expected<ValueId> parted(Builder& builder, ValueId value, ValueId like) {
  const Dim batch = builder.module().value(like).type.dims[1];
  if (batch == Dim(1))
    return builder.op(ops::unsqueeze_op, {value}, {{"axes", std::vector<std::int64_t>{1}}});
  std::vector<std::int64_t> shape = sizes_from(builder.module().value(value).type, 1);
  if (batch.is_constant()) {
    shape.insert(shape.begin(), {-1, batch.value()});
    return builder.op(ops::reshape_op, {value, list_of(builder, shape)}, {{"allowzero", 0}});
  }
  // If the batch may be 0, -1 would be ambiguous.
  SCANLOOM_TRY(const ValueId first, builder.op(ops::shape_op, {like}, {{"start", 0}, {"end", 2}}));
  SCANLOOM_TRY(const ValueId all,
               builder.op(ops::concat_op, {first, list_of(builder, shape)}, {{"axis", 0}}));
  return builder.op(ops::reshape_op, {value, all}, {{"allowzero", 1}});
}

}  // namespace

// The element numbers that max_pool returns count through the whole batch.
bool can_lift_windows(Module& module, const Node& node, const std::vector<bool>& varies) {
  if (!only_first_varies(varies)) return false;
  for (std::size_t i = 1; i < node.inputs.size(); ++i)
    if (node.inputs[i].valid() && !type_of(module, node, i).is_static()) return false;
  for (std::size_t i = 1; i < node.outputs.size(); ++i)
    if (is_read(module, node, node.outputs[i])) return false;
  const Type &from = type_of(module, node), &to = module.value(node.outputs[0]).type;
  return is_known_behind_batch(from) && is_known_behind_batch(to) && from.dims[0] != Dim(0);
}

Expected<Lifted> lift_windows(Builder& builder, const Node& node,
                              const std::vector<Lifted>& operands) {
  SCANLOOM_TRY(const Lifted front, at_front(builder, operands[0]));
  std::vector<ValueId> inputs;
  for (const Lifted& operand : operands) inputs.push_back(operand.value);
  SCANLOOM_TRY(inputs[0], joined(builder, front.value));
  SCANLOOM_TRY(const ir::NodeId made,
               builder.node(*node.op, std::move(inputs), attrs_but(node), node.outputs.size()));
  SCANLOOM_TRY(const ValueId value,
               parted(builder, builder.module().node(made).outputs[0], front.value));
  return Lifted{value, 0};
}

}  // namespace scanloom::passes
