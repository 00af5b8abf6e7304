// Divides the rows of a batch that no step of a recurrence mixes into groups, each of which walks
// through all steps on its own. The result is a loop over groups, which run in parallel without
// waiting for each other, around the original loop with fewer rows. The state of a group stays in
// the cache of one core.
//
// Bits do not change: every row is computed as before. Only loops with products of many rows are
// divided; a group keeps enough rows to amortise loading the weights. step_rules.h finds the axis
// of the batch; inference checks that the body works with fewer rows.
//
// It runs last: the other passes work on loops over the steps, and streams are made from them.

#include <algorithm>
#include <optional>

#include "base/checked.h"
#include "ir/builder.h"
#include "ir/walk.h"
#include "opmath/contraction.h"
#include "ops/ops.h"
#include "passes/analysis/loop_facts.h"
#include "passes/analysis/over_time.h"
#include "passes/lifting/flow_of_results.h"
#include "passes/pass.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Dim;
using ir::LoopPorts;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::StepFlow;
using ir::Type;
using ir::ValueId;
using Kind = StepFlow::Kind;

/// From this many rows on, a product is about as fast per row as with more.
constexpr std::int64_t kMinRows = 16;
/// The same if the weights do not fit into the cache of a core: each group reads them again.
constexpr std::int64_t kMinRowsOfLarge = 64;
/// The number of weight elements that fit.
constexpr std::int64_t kMaxWeights = 512 * 1024;
/// Multiplications per step of a group; below this, the additional steps cost more than they gain.
constexpr std::int64_t kMinProducts = 256 * 1024;
/// Each loop costs a walk over its body.
constexpr std::size_t kMaxBatchedNodes = 512;

/// Returns the smallest number of rows in [least, 2 * least) that divides the batch into equal
/// groups; nullopt if there are no two such groups.
std::optional<std::int64_t> rows_of_group(std::int64_t batch, std::int64_t least) {
  for (std::int64_t rows = least; rows < 2 * least && rows <= batch / 2; ++rows)
    if (batch % rows == 0) return rows;
  return std::nullopt;
}

/// Returns the first axis of that size; nullopt if there is none.
std::optional<int> axis_of_size(const Type& type, std::int64_t size) {
  if (!type.is_tensor() || !type.ranked) return std::nullopt;
  const auto found = std::ranges::find(type.dims, Dim(size));
  if (found == type.dims.end()) return std::nullopt;
  return static_cast<int>(found - type.dims.begin());
}

Type with_size(Type type, int axis, std::int64_t size) {
  type.dims[static_cast<std::size_t>(axis)] = Dim(size);
  return type;
}

/// Facts about the module before any loop is divided.
struct Facts {
  std::vector<std::uint32_t> uses;  ///< by ValueId
  tensor::DimTable& dims;           ///< a copy, for sizes that come up
};

/// One loop, with a batch of a certain size.
class Divider {
 public:
  Divider(Module& module, NodeId loop, const Facts& facts, std::int64_t batch)
      : module_(module), loop_(loop), uses_(facts.uses), dims_(facts.dims), batch_(batch) {}

  /// Whether the loop can be divided, and gains from it. `captured`: whether captured values with
  /// that size have the batch too.
  [[nodiscard]] bool find_axes(bool captured) {
    flows_.assign(module_.value_count(), {});
    const LoopPorts& ports = *module_.node(loop_).loop;
    const ir::Region& body = module_.region(module_.node(loop_).regions[0]);
    for (std::size_t i = 0; i < body.args.size(); ++i) {
      if (i < ports.captured && !captured) continue;
      if (const auto axis = axis_of_size(module_.value(body.args[i]).type, batch_))
        set(body.args[i], *axis);
    }
    products_ = weights_ = 0;
    for (const NodeId id : body.nodes)
      if (!follow(module_.node(id))) return false;
    const std::int64_t of_row = products_ / batch_;
    if (of_row == 0) return false;
    const std::int64_t least =
        std::max({kMinRows, weights_ > kMaxWeights ? kMinRowsOfLarge : kMinRows,
                  (kMinProducts + of_row - 1) / of_row});
    const auto rows = rows_of_group(batch_, least);
    rows_ = rows.value_or(0);
    return rows && yields_fit() && sizes_fit();
  }

  /// Returns whether the loop was divided. Error: internal.
  Expected<bool> divide() {
    const Node node = module_.node(loop_);  // by value: adding nodes may move it
    const LoopPorts& ports = *node.loop;
    const ir::RegionId groups = module_.add_region(loop_, module_.region(node.regions[0]).name);
    LoopPorts outer;
    std::vector<ValueId> captured, scanned, inner_inputs(node.inputs.size());
    const auto read = [&](std::size_t input, std::optional<int> axis) {
      const ValueId value = node.inputs[input];
      if (axis) {
        outer.scanned.push_back(
            {.axis = *axis, .start = 0, .stride = rows_, .part = rows_, .squeeze = false});
        scanned.push_back(value);
      } else {
        captured.push_back(value);
      }
    };
    for (std::size_t i = 0; i < node.inputs.size(); ++i) read(i, outer_axis(ports, i));
    outer.captured = static_cast<std::uint32_t>(captured.size());
    for (const bool scans : {false, true})
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const auto axis = outer_axis(ports, i);
        if (axis.has_value() != scans) continue;
        const Type& type = module_.value(node.inputs[i]).type;
        inner_inputs[i] = module_.add_argument(groups, axis ? with_size(type, *axis, rows_) : type,
                                               module_.value(node.inputs[i]).name);
      }
    std::vector<Type> results;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const int axis = result_axis(ports, i);
      outer.stacked.push_back({.axis = axis, .reverse = false, .insert = false});
      results.push_back(with_size(module_.value(node.outputs[i]).type, axis, rows_));
    }
    const NodeId inner = module_.add_node(groups, ir::loop_op, std::move(inner_inputs), {},
                                          std::move(results), node.location);
    module_.node(inner).loop = ports;
    SCANLOOM_TRY(const std::optional<ir::RegionId> body, body_of_group(inner));
    if (!body) return false;
    module_.node(inner).regions = {*body};
    module_.region(groups).yields = module_.node(inner).outputs;
    Node& divided = module_.node(loop_);
    divided.inputs = std::move(captured);
    divided.inputs.insert(divided.inputs.end(), scanned.begin(), scanned.end());
    divided.loop = std::move(outer);
    divided.regions = {groups};
    return true;
  }

 private:
  [[nodiscard]] const StepFlow& flow(ValueId value) const { return flows_[value.index]; }
  [[nodiscard]] bool along(ValueId value) const {
    return value.valid() && flow(value).kind == Kind::along;
  }
  void set(ValueId value, int axis) { flows_[value.index] = {Kind::along, axis}; }

  /// Whether the node keeps the rows apart.
  bool follow(const Node& node) {
    if (std::ranges::none_of(node.inputs, [&](ValueId input) { return along(input); })) return true;
    const auto is_ranked = [&](ValueId value) {
      return !value.valid() || module_.value(value).type.ranked;
    };
    if (!std::ranges::all_of(node.inputs, is_ranked) ||
        !std::ranges::all_of(node.outputs, is_ranked))
      return false;
    const auto found = flow_of_results({module_, node, flows_, uses_, dims_, Dim(batch_)});
    if (!found || found->each != Dim(1)) return false;
    for (const ValueId output : node.outputs) set(output, found->axis);
    if (node.op == &ops::contract_op) count_products(node);
    return true;
  }

  /// Adds elements of the result times summed elements, as far as they are known.
  void count_products(const Node& node) {
    const Type &a = module_.value(node.inputs[0]).type, &b = module_.value(node.inputs[1]).type;
    const auto einsum = tensor::parse_einsum(attr_of(node, "spec").text(), a.rank(), b.rank());
    if (!einsum) return;
    std::int64_t count = known_elements(module_.value(node.outputs[0]).type);
    for (int i = 0; i < a.rank(); ++i) {
      const Dim size = a.dims[static_cast<std::size_t>(i)];
      if (einsum->out.find(einsum->a.labels[static_cast<std::size_t>(i)]) < 0 &&
          size.is_constant() && __builtin_mul_overflow(count, size.value(), &count))
        return;
    }
    products_ = saturating_sum(products_, count);
    for (const ValueId input : node.inputs)
      if (!along(input))
        weights_ = saturating_sum(weights_, known_elements(module_.value(input).type));
  }

  /// Whether states and rows have the batch, states on the same axis as before.
  [[nodiscard]] bool yields_fit() const {
    const LoopPorts& ports = *module_.node(loop_).loop;
    const ir::Region& body = module_.region(module_.node(loop_).regions[0]);
    for (std::size_t i = 0; i < body.yields.size(); ++i) {
      if (!along(body.yields[i])) return false;
      if (i >= ports.carried) continue;
      const ValueId argument = body.args[ports.captured + i];
      if (!along(argument) || flow(argument).axis != flow(body.yields[i]).axis) return false;
    }
    for (std::size_t i = 0; i < ports.stacked.size(); ++i)
      if (!ports.stacked[i].insert &&
          flow(body.yields[ports.carried + i]).axis == static_cast<int>(ports.stacked[i].axis))
        return false;
    return true;
  }

  /// Whether the loop's operands and results have the size of their slices and rows.
  [[nodiscard]] bool sizes_fit() const {
    const Node& node = module_.node(loop_);
    const auto has_batch = [&](ValueId value, int axis) {
      const Type& type = module_.value(value).type;
      return type.ranked && axis < type.rank() &&
             type.dims[static_cast<std::size_t>(axis)] == Dim(batch_);
    };
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (const auto axis = outer_axis(*node.loop, i); axis && !has_batch(node.inputs[i], *axis))
        return false;
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (!has_batch(node.outputs[i], result_axis(*node.loop, i))) return false;
    return true;
  }

  /// Returns the axis of the batch in an operand of the loop, if it has one.
  [[nodiscard]] std::optional<int> outer_axis(const LoopPorts& ports, std::size_t input) const {
    if (input < ports.first_captured_input()) return std::nullopt;
    const ir::Region& body = module_.region(module_.node(loop_).regions[0]);
    const ValueId argument = body.args[input - ports.first_captured_input()];
    if (!along(argument)) return std::nullopt;
    const int axis = flow(argument).axis;
    if (input < ports.first_scanned_input()) return axis;
    const ir::ScannedPort& port = ports.scanned[input - ports.first_scanned_input()];
    return axis + (port.squeeze && axis >= port.axis ? 1 : 0);
  }

  [[nodiscard]] int result_axis(const LoopPorts& ports, std::size_t output) const {
    const ir::Region& body = module_.region(module_.node(loop_).regions[0]);
    const int axis = flow(body.yields[output]).axis;
    if (output < ports.carried) return axis;
    const ir::StackedPort& port = ports.stacked[output - ports.carried];
    return axis + (port.insert && axis >= port.axis ? 1 : 0);
  }

  /// Returns the loop's body for the rows of a group; nullopt if some value would have another
  /// size.
  Expected<std::optional<ir::RegionId>> body_of_group(NodeId inner) {
    const ir::RegionId from = module_.node(loop_).regions[0];
    const ir::RegionId body = module_.add_region(inner, module_.region(from).name);
    std::vector<ValueId> copies(module_.value_count());
    const auto type_of_group = [&](ValueId value) {
      const Type& type = module_.value(value).type;
      return along(value) ? with_size(type, flow(value).axis, rows_) : type;
    };
    const std::vector<ValueId> arguments = module_.region(from).args;
    for (const ValueId argument : arguments) {
      copies[argument.index] =
          module_.add_argument(body, type_of_group(argument), module_.value(argument).name);
    }
    ir::Builder builder(module_, body);
    const std::vector<NodeId> nodes = module_.region(from).nodes;
    for (const NodeId id : nodes) {
      const Node node = module_.node(id);  // by value: adding nodes may move it
      builder.set_location(node.location);
      SCANLOOM_TRY(const std::vector<ValueId> outputs, copy(builder, node, copies));
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        copies[node.outputs[i].index] = outputs[i];
        if (module_.value(outputs[i]).type != type_of_group(node.outputs[i]))
          return std::optional<ir::RegionId>();
        module_.value(outputs[i]).name = module_.value(node.outputs[i]).name;
      }
    }
    const std::vector<ValueId> yields = module_.region(from).yields;
    for (const ValueId yield : yields) module_.region(body).yields.push_back(copies[yield.index]);
    return std::optional(body);
  }

  /// Makes the results of the node from the operands' copies.
  Expected<std::vector<ValueId>> copy(ir::Builder& builder, const Node& node,
                                      const std::vector<ValueId>& copies) const {
    if (node.op == &ir::constant_op)
      return std::vector<ValueId>{builder.constant(node.attrs[0].tensor())};
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs)
      inputs.push_back(input.valid() ? copies[input.index] : input);
    std::vector<ir::NamedAttr> attrs;
    for (std::size_t i = 0; i < node.attrs.size(); ++i)
      attrs.push_back({node.op->attrs[i].name, node.attrs[i]});
    SCANLOOM_TRY(const NodeId made,
                 builder.node(*node.op, std::move(inputs), std::move(attrs), node.outputs.size()));
    return builder.module().node(made).outputs;
  }

  Module& module_;
  const NodeId loop_;
  const std::vector<std::uint32_t>& uses_;
  tensor::DimTable& dims_;
  const std::int64_t batch_;
  std::vector<StepFlow> flows_;  ///< by ValueId
  std::int64_t products_ = 0;    ///< of a step
  std::int64_t weights_ = 0;     ///< elements that all rows are multiplied with
  std::int64_t rows_ = 0;        ///< of a group
};

/// Only loops of the top region: one inside another loop already runs in parallel.
bool may_be_divided(const Module& module, NodeId id) {
  const Node& node = module.node(id);
  return node.op == &ir::loop_op && takes_all_steps(module, id) && node.loop->carried > 0 &&
         module.region(node.regions[0]).nodes.size() <= kMaxBatchedNodes &&
         is_plain(module, node.regions[0], false);
}

/// Returns the division of a loop, if it can be divided and gains from it.
std::optional<Divider> division_of(Module& module, NodeId loop, const Facts& facts) {
  const Node& node = module.node(loop);
  for (const Dim size : module.value(node.inputs[node.loop->first_carried_input()]).type.dims) {
    if (!size.is_constant() || size.value() < 2 * kMinRows) continue;
    Divider divider(module, loop, facts, size.value());
    // A captured matrix may have that size by chance.
    for (const bool captured : {true, false})
      if (divider.find_axes(captured)) return divider;
  }
  return std::nullopt;
}

std::vector<NodeId> candidates(const Module& module) {
  std::vector<NodeId> loops = module.region(module.top()).nodes;
  std::erase_if(loops, [&](NodeId id) { return !may_be_divided(module, id); });
  return loops;
}

}  // namespace

/// Whether some loop has a batch and products, so that the pass may divide it.
bool has_batches(const Module& module) {
  return std::ranges::any_of(candidates(module), [&](NodeId id) {
    const Node& node = module.node(id);
    const Type& state = module.value(node.inputs[node.loop->first_carried_input()]).type;
    const bool has_batch = std::ranges::any_of(
        state.dims, [](Dim size) { return size.is_constant() && size.value() >= 2 * kMinRows; });
    return has_batch &&
           std::ranges::any_of(module.region(node.regions[0]).nodes, [&](NodeId inner) {
             return module.node(inner).op == &ops::contract_op;
           });
  });
}

Expected<Change> interchange_batch(ir::Module& module) {
  Change change;
  const std::vector<NodeId> loops = candidates(module);
  if (loops.empty()) return change;
  tensor::DimTable dims = module.dims;
  const Facts facts{ir::count_uses(module), dims};
  for (const NodeId id : loops) {
    auto division = division_of(module, id, facts);
    if (!division) continue;
    SCANLOOM_TRY(const bool divided, division->divide());
    change.changed |= divided;
  }
  return change;
}

}  // namespace scanloom::passes
