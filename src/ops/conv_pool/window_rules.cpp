#include "ops/conv_pool/window_rules.h"

#include <algorithm>

#include "ops/ops.h"

namespace scanloom::ops {
namespace {

constexpr int kBatch = 0;
constexpr int kChannels = 1;

/// Whether all sizes except the first are numbers other than 0.
bool is_known_after_batch(const ir::Type& type) {
  return type.rank() > 0 && std::all_of(type.dims.begin() + 1, type.dims.end(), [](ir::Dim dim) {
           return dim.is_constant() && dim != ir::Dim(0);
         });
}

bool is_read(const ir::Module& module, const ir::Node& node, ir::ValueId value) {
  const ir::Region& region = module.region(node.parent);
  return std::ranges::find(region.yields, value) != region.yields.end() ||
         std::ranges::any_of(region.nodes, [&](ir::NodeId id) {
           const std::vector<ir::ValueId>& inputs = module.node(id).inputs;
           return std::ranges::find(inputs, value) != inputs.end();
         });
}

std::vector<std::int64_t> sizes_from(const ir::Type& type, std::size_t axis) {
  std::vector<std::int64_t> sizes;
  for (; axis < type.dims.size(); ++axis) sizes.push_back(type.dims[axis].value());
  return sizes;
}

/// Joins steps and batch into one axis.
Expected<ir::ValueId> joined(ir::Builder& builder, ir::ValueId value) {
  const ir::Type type = builder.module().value(value).type;
  if (type.dims[1] == ir::Dim(1))
    return builder.op(squeeze_op, {value}, {{"axes", std::vector<std::int64_t>{1}}});
  std::vector<std::int64_t> shape = sizes_from(type, 2);
  shape.insert(shape.begin(), -1);
  return builder.op(reshape_op, {value, list_of(builder, shape)}, {{"allowzero", 0}});
}

/// The opposite of `joined`. `like` has the wanted steps and batch.
Expected<ir::ValueId> parted(ir::Builder& builder, ir::ValueId value, ir::ValueId like) {
  const ir::Dim batch = builder.module().value(like).type.dims[1];
  if (batch == ir::Dim(1))
    return builder.op(unsqueeze_op, {value}, {{"axes", std::vector<std::int64_t>{1}}});
  std::vector<std::int64_t> shape = sizes_from(builder.module().value(value).type, 1);
  if (batch.is_constant()) {
    shape.insert(shape.begin(), {-1, batch.value()});
    return builder.op(reshape_op, {value, list_of(builder, shape)}, {{"allowzero", 0}});
  }
  // If the batch may be 0, -1 would be ambiguous.
  SCANLOOM_TRY(const ir::ValueId first, builder.op(shape_op, {like}, {{"start", 0}, {"end", 2}}));
  SCANLOOM_TRY(const ir::ValueId all,
               builder.op(concat_op, {first, list_of(builder, shape)}, {{"axis", 0}}));
  return builder.op(reshape_op, {value, all}, {{"allowzero", 1}});
}

}  // namespace

Expected<int> steps_of_windows(const ir::StepSite& s) {
  if (s.axis(0) == kChannels) return across("it sums over them");
  if (s.axis(0) != kBatch) return across("its windows hold several of them");
  return kBatch;
}

// The element numbers that max_pool returns count through all of x.
Expected<int> steps_of_pool(const ir::StepSite& s) {
  if (s.axis(0) > kChannels) return across("its windows hold several of them");
  if (s.node.op == &max_pool_op && s.is_read(1))
    return across("it numbers the elements of all of them");
  return s.axis(0);
}

// The element numbers that max_pool returns count through the whole batch.
bool can_lift_windows(ir::Module& module, const ir::Node& node, const std::vector<bool>& varies) {
  if (!only_first_varies(varies)) return false;
  for (std::size_t i = 1; i < node.inputs.size(); ++i)
    if (node.inputs[i].valid() && !type_of(module, node, i).is_static()) return false;
  for (std::size_t i = 1; i < node.outputs.size(); ++i)
    if (is_read(module, node, node.outputs[i])) return false;
  const ir::Type &from = type_of(module, node), &to = module.value(node.outputs[0]).type;
  return is_known_after_batch(from) && is_known_after_batch(to) && from.dims[0] != ir::Dim(0);
}

Expected<ir::Lifted> lift_windows(ir::Builder& builder, const ir::Node& node,
                                  const LiftedOperands& operands) {
  SCANLOOM_TRY(const ir::Lifted front, at_front(builder, operands[0]));
  std::vector<ir::ValueId> inputs;
  for (const ir::Lifted& operand : operands) inputs.push_back(operand.value);
  SCANLOOM_TRY(inputs[0], joined(builder, front.value));
  SCANLOOM_TRY(const ir::NodeId made,
               builder.node(*node.op, std::move(inputs), attrs_but(node), node.outputs.size()));
  SCANLOOM_TRY(const ir::ValueId value,
               parted(builder, builder.module().node(made).outputs[0], front.value));
  return ir::Lifted{value, 0};
}

}  // namespace scanloom::ops
