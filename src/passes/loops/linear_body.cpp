#include "passes/loops/linear_body.h"

#include <algorithm>

#include "opmath/linear_scan.h"
#include "ops/ops.h"

namespace scanloom::passes {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

namespace {

/// More states take too long to analyse, and hardly occur.
constexpr std::size_t kMaxAnalysedStates = 64;

bool is_single_element(const Type& type) {
  return type.is_tensor() && type.ranked &&
         std::ranges::all_of(type.dims, [](ir::Dim dim) { return dim == ir::Dim(1); });
}

bool is_real_element(const Type& type) {
  return is_single_element(type) && (type.dtype == DType::f32 || type.dtype == DType::f64);
}

/// Whether the node may be copied out of the loop: it is the same in all steps.
bool may_be_copied(const Node& node) {
  return node.op == &ir::constant_op ||
         (node.op->effects == ir::Effects::pure && node.regions.empty() &&
          (node.op->access == ir::Access::pointwise || node.op->access == ir::Access::view));
}

}  // namespace

bool only_reshapes(const ir::OpDef& op) {
  return &op == &ops::identity_op || &op == &ops::reshape_op || &op == &ops::squeeze_op ||
         &op == &ops::unsqueeze_op;
}

std::optional<LinearBody> LinearBody::of(Module& module, const KnownSizes& sizes, NodeId loop) {
  LinearBody body(module, loop);
  if (!body.find_dependences() || !body.find_groups()) return std::nullopt;
  body.find_needed();
  if (!body.can_lift_needed(module, sizes)) return std::nullopt;
  return body;
}

const std::vector<NodeId>& LinearBody::nodes() const {
  return module_->region(module_->node(loop_).regions[0]).nodes;
}

std::size_t LinearBody::state_count() const { return module_->node(loop_).loop->carried; }

ValueId LinearBody::argument_of(std::size_t state) const {
  const Node& node = module_->node(loop_);
  return module_->region(node.regions[0]).args[node.loop->captured + state];
}

ValueId LinearBody::next_of(std::size_t state) const {
  const Node& node = module_->node(loop_);
  return module_->region(node.regions[0]).yields[node.loop->first_carried_yield() + state];
}

bool LinearBody::depends_on(ValueId value, const StateGroup& group) const {
  const auto found = needs_.find(value);
  return found != needs_.end() && std::ranges::any_of(group.states, [&](std::size_t state) {
           return found->second.contains(state);
         });
}

bool LinearBody::find_dependences() {
  const ir::LoopPorts& ports = *module_->node(loop_).loop;
  if (state_count() == 0 || state_count() > kMaxAnalysedStates) return false;
  const std::vector<ValueId>& args = module_->region(module_->node(loop_).regions[0]).args;
  varying_.insert(args.begin() + ports.captured, args.end());
  for (std::size_t i = 0; i < state_count(); ++i) needs_[argument_of(i)] = {i};
  for (const NodeId id : nodes()) {
    const Node& node = module_->node(id);
    std::set<std::size_t> needs;
    bool varies = false;
    for (const ValueId input : node.inputs) {
      if (!input.valid()) continue;
      varies |= varying_.contains(input);
      if (const auto found = needs_.find(input); found != needs_.end())
        needs.insert(found->second.begin(), found->second.end());
    }
    for (const ValueId output : node.outputs) {
      needs_[output] = needs;
      if (varies) varying_.insert(output);
    }
  }
  for (std::size_t i = 0; i < state_count(); ++i) {
    const auto found = needs_.find(next_of(i));
    reach_.push_back(found == needs_.end() ? std::set<std::size_t>() : found->second);
  }
  for (std::size_t middle = 0; middle < state_count(); ++middle)
    for (std::set<std::size_t>& reached : reach_)
      if (reached.contains(middle)) {
        const std::set<std::size_t> more = reach_[middle];
        reached.insert(more.begin(), more.end());
      }
  return true;
}

/// The states that depend on this one, and it on them; none for a delay.
std::set<std::size_t> LinearBody::mutual(std::size_t state) const {
  std::set<std::size_t> result;
  for (const std::size_t other : reach_[state])
    if (reach_[other].contains(state)) result.insert(other);
  return result;
}

bool LinearBody::find_groups() {
  std::set<std::size_t> open;
  for (std::size_t i = 0; i < state_count(); ++i) open.insert(i);
  while (!open.empty()) {
    const auto ready = std::ranges::find_if(open, [&](std::size_t state) {
      const std::set<std::size_t> own = mutual(state);
      return std::ranges::all_of(reach_[state], [&](std::size_t other) {
        return own.contains(other) || !open.contains(other);
      });
    });
    if (ready == open.end()) return false;
    std::set<std::size_t> states = mutual(*ready);
    if (states.empty()) states = {*ready};
    if (!add_group(states)) return false;
    for (const std::size_t state : states) open.erase(state);
  }
  return !std::ranges::all_of(groups_, &StateGroup::is_delay);
}

bool LinearBody::add_group(const std::set<std::size_t>& states) {
  StateGroup group{.states = {states.begin(), states.end()}};
  const auto argument_type = [&](std::size_t state) -> const Type& {
    return module_->value(argument_of(state)).type;
  };
  for (const std::size_t state : group.states)
    if (argument_type(state) != module_->value(next_of(state)).type) return false;
  const std::size_t first = group.states[0];
  group.is_delay = !reach_[first].contains(first);
  if (group.is_delay) {
    groups_.push_back(std::move(group));
    return is_single_element(argument_type(first));
  }
  if (group.states.size() > tensor::kMaxLinearStates) return false;
  for (const NodeId id : nodes())
    if (depends_on(module_->node(id).outputs[0], group)) group.path.push_back(id);
  std::set<ValueId> wanted;
  for (const std::size_t state : group.states) wanted.insert(next_of(state));
  for (auto id = group.path.rbegin(); id != group.path.rend(); ++id) {
    const Node& node = module_->node(*id);
    if (wanted.contains(node.outputs[0])) wanted.insert(node.inputs.begin(), node.inputs.end());
  }
  std::erase_if(group.path,
                [&](NodeId id) { return !wanted.contains(module_->node(id).outputs[0]); });
  if (!is_linear(group)) {
    group.varies = group.states.size() == 1;
    if (!group.varies || !is_linear(group)) return false;
  }
  groups_.push_back(std::move(group));
  return true;
}

bool LinearBody::is_linear(const StateGroup& group) const {
  const DType dtype = module_->value(argument_of(group.states[0])).type.dtype;
  const auto fits = [&](ValueId value) {
    const Type& type = module_->value(value).type;
    return is_real_element(type) && type.dtype == dtype;
  };
  for (const std::size_t state : group.states)
    if (!fits(argument_of(state))) return false;
  return std::ranges::all_of(group.path, [&](NodeId id) {
    const Node& node = module_->node(id);
    return node.outputs.size() == 1 && fits(node.outputs[0]) && is_linear(node, group) &&
           (only_reshapes(*node.op) || node.op == &ops::where_op ||
            std::ranges::all_of(node.inputs, fits));
  });
}

bool LinearBody::is_linear(const Node& node, const StateGroup& group) const {
  const auto is_factor = [&](std::size_t i) {
    return !reads(node, i, group) && (group.varies || !varies(node.inputs[i]));
  };
  if (node.op == &ops::mul_op) return is_factor(reads(node, 0, group) ? 1 : 0);
  if (node.op == &ops::div_op) return reads(node, 0, group) && is_factor(1);
  if (node.op == &ops::where_op)
    return group.varies && !reads(node, 0, group) &&
           is_single_element(module_->value(node.inputs[0]).type);
  return node.op == &ops::add_op || node.op == &ops::sub_op || node.op == &ops::neg_op ||
         (only_reshapes(*node.op) && reads(node, 0, group));
}

void LinearBody::find_needed() {
  const Node& loop = module_->node(loop_);
  const std::vector<ValueId>& yields = module_->region(loop.regions[0]).yields;
  needed_.insert(yields.begin() + loop.loop->first_stacked_yield(), yields.end());
  std::set<ValueId> given;
  for (const StateGroup& group : groups_) {
    for (const std::size_t state : group.states)
      (group.is_delay ? needed_ : given).insert(next_of(state));
    for (const NodeId id : group.path)
      for (const ValueId input : module_->node(id).inputs)
        if (input.valid() && !depends_on(input, group)) needed_.insert(input);
  }
  for (auto id = nodes().rbegin(); id != nodes().rend(); ++id) {
    const Node& node = module_->node(*id);
    const bool read = std::ranges::any_of(node.outputs, [&](ValueId output) {
      return needed_.contains(output) && !given.contains(output);
    });
    if (read) needed_.insert(node.inputs.begin(), node.inputs.end());
  }
}

bool LinearBody::can_lift_needed(Module& module, const KnownSizes& sizes) const {
  std::set<ValueId> given;
  for (const StateGroup& group : groups_)
    if (!group.is_delay)
      for (const std::size_t state : group.states) given.insert(next_of(state));
  return std::ranges::all_of(nodes(), [&](NodeId id) {
    const Node& node = module.node(id);
    if (std::ranges::none_of(node.outputs, [&](ValueId output) {
          return needed_.contains(output) && !given.contains(output);
        }))
      return true;
    std::vector<bool> varies;
    for (const ValueId input : node.inputs) varies.push_back(varying_.contains(input));
    if (std::ranges::find(varies, true) == varies.end()) return may_be_copied(node);
    return can_lift(module, sizes, id, varies);
  });
}

}  // namespace scanloom::passes
