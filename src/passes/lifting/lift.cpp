#include "passes/lifting/lift.h"

#include <algorithm>
#include <optional>

#include "ir/op_def.h"

namespace scanloom::passes {
namespace {

using ir::Builder;
using ir::Dim;
using ir::Module;
using ir::Node;
using ir::Type;
using ir::ValueId;
using Operands = std::vector<Lifted>;

std::optional<ir::LiftRule> rule_of(const ir::OpDef& op) {
  if (op.scalar != nullptr) return ir::LiftRule{ops::can_lift_pointwise, ops::lift_pointwise};
  if (op.lifting.can == nullptr) return std::nullopt;
  return op.lifting;
}

}  // namespace

KnownSizes::KnownSizes(const Module& module) {
  for (const ValueId arg : module.region(module.top()).args)
    for (const Dim dim : module.value(arg).type.dims)
      if (module.dims.is_fresh(dim)) given_.insert(dim);
}

bool KnownSizes::has(const tensor::DimTable& dims, Dim dim) const {
  std::vector<Dim> pending{dim};
  while (!pending.empty()) {
    const Dim next = pending.back();
    pending.pop_back();
    if (next.is_constant()) continue;
    const tensor::DimNode& node = dims.node(next.expr());
    if (node.kind == tensor::DimKind::symbol) continue;
    if (node.kind != tensor::DimKind::fresh) {
      pending.push_back(node.left);
      pending.push_back(node.right);
    } else if (!given_.contains(next)) {
      return false;
    }
  }
  return true;
}

bool KnownSizes::has(const Module& module, ValueId value) const {
  const Type& type = module.value(value).type;
  return type.is_tensor() && type.ranked &&
         std::ranges::all_of(type.dims, [&](Dim dim) { return has(module.dims, dim); });
}

bool can_lift(Module& module, const KnownSizes& sizes, ir::NodeId id,
              const std::vector<bool>& varies) {
  const Node& node = module.node(id);
  const auto rule = rule_of(*node.op);
  if (!rule) return false;
  const auto fits = [&](ValueId value) {
    return !value.valid() ||
           (sizes.has(module, value) && module.value(value).type.rank() < tensor::kMaxRank);
  };
  return std::ranges::all_of(node.inputs, fits) && std::ranges::all_of(node.outputs, fits) &&
         rule->can(module, node, varies);
}

Expected<Operands> lift(Builder& builder, ir::NodeId id, const Operands& operands) {
  const Node node = builder.module().node(id);  // by value: adding nodes may move it
  builder.set_location(node.location);
  SCANLOOM_TRY(const Lifted first, rule_of(*node.op)->lift(builder, node, operands));
  Module& module = builder.module();
  const Node& made = module.node(module.value(first.value).producer);
  Operands results(node.outputs.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (i > 0 && made.op != node.op) break;  // nothing reads the other results
    results[i] = {i == 0 ? first.value : made.outputs[i], first.axis};
    module.value(results[i].value).name = module.value(node.outputs[i]).name;
  }
  return results;
}

Type sequence_type(const Type& element, int axis, Dim steps) {
  Type type = element;
  type.dims.insert(type.dims.begin() + axis, steps);
  return type;
}

}  // namespace scanloom::passes
