// Unrolls short loops. A loop without steps is replaced by its initial values and empty stacks, one
// of a single step by its body, one of a few small steps by all of them in a row. It runs after
// inline_branch, which also uncovers such loops, and before everything that works within one
// region.
//
// Several steps are copied only if their loop would never become machine code: that takes many more
// steps (kMinStepsToCompile of plan/cost.h) than kMaxSteps. Inside another loop they may have more
// nodes, since a body without loops can be compiled as a whole; outside, each node is a call.
//
// Loops that a pass may replace by one that rounds differently wait until it has decided: otherwise
// the last bits would depend on how many steps there are, and on whether that is known.
#include <algorithm>

#include "ir/scan_window.h"
#include "ops/ops.h"
#include "passes/analysis/loop_facts.h"
#include "passes/loops/accumulators.h"
#include "passes/loops/chosen_loops.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::LoopPorts;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

constexpr std::int64_t kMaxSteps = 8;
constexpr std::int64_t kMaxNodesInLoop = 64;
constexpr std::int64_t kMaxNodesOutside = 16;

/// Gives each copy of a step its own sizes where only data decide them.
void renew_sizes(Module& module, std::size_t first_value) {
  for (std::size_t i = first_value; i < module.value_count(); ++i)
    for (ir::Dim& dim : module.value(ValueId(i)).type.dims)
      if (module.dims.uses_fresh_from(dim, 0)) dim = module.dims.fresh();
}

/// Whether no state changes its rank from step to step: a later step would fail, but only when the
/// run reaches it.
bool keeps_ranks(const Module& module, const Node& node) {
  const LoopPorts& ports = *node.loop;
  const ir::Region& body = module.region(node.regions[0]);
  for (std::size_t i = 0; i < ports.carried; ++i) {
    const Type& argument = module.value(body.args[ports.captured + i]).type;
    const Type& next = module.value(body.yields[ports.first_carried_yield() + i]).type;
    if (argument.is_tensor() &&
        (!argument.ranked || !next.ranked || argument.rank() != next.rank()))
      return false;
  }
  return true;
}

/// Whether several steps may be copied.
bool are_few(const Module& module, const Node& node, std::int64_t steps) {
  if (steps > kMaxSteps || !is_plain(module, node.regions[0], true) || !keeps_ranks(module, node))
    return false;
  const auto work = std::ranges::count_if(module.region(node.regions[0]).nodes, [&](NodeId id) {
    return module.node(id).op != &ir::constant_op;
  });
  return steps * work <= (is_in_loop(module, node.parent) ? kMaxNodesInLoop : kMaxNodesOutside);
}

/// Whether the stacks are empty for sure. Others may have sizes that depend on data.
bool stacks_nothing(const Module& module, const Node& node) {
  const LoopPorts& ports = *node.loop;
  for (std::size_t i = 0; i < ports.stacked.size(); ++i) {
    const Type& type = module.value(node.outputs[ports.carried + i]).type;
    if (!type.is_static() || type.shape()[static_cast<int>(ports.stacked[i].axis)] != 0)
      return false;
  }
  return true;
}

/// Returns the number of steps if the loop can be replaced by them.
std::optional<std::int64_t> short_steps(const Module& module, NodeId id) {
  const Node& node = module.node(id);
  if (node.op != &ir::loop_op) return std::nullopt;
  const auto steps = known_steps(module, node);
  if (!steps) return std::nullopt;
  const bool fits = *steps == 0 ? stacks_nothing(module, node)
                                : yields_fit(module, node, *steps > 1) &&
                                      (*steps == 1 || are_few(module, node, *steps));
  return fits ? steps : std::nullopt;
}

/// One region, whose list of nodes is rebuilt: nodes are taken from a stack, on which a body's
/// nodes replace their loop.
class Inliner {
 public:
  Inliner(Module& module, ir::ValueMap& map, ir::RegionId region, const WhichLoops& which)
      : module_(module), map_(map), region_(region), which_(which), builder_(module, region) {}

  Expected<Change> run() {
    push(std::move(module_.region(region_).nodes));
    module_.region(region_).nodes.clear();
    while (!pending_.empty()) {
      const Pending next = pending_.back();
      pending_.pop_back();
      if (next.is_done) {
        SCANLOOM_CHECK_OK(leave(next.node));
        continue;
      }
      adopt(next.node);
      SCANLOOM_TRY(const bool inlined, inline_loop(next.node));
      change_.changed |= inlined;
      if (!inlined) module_.region(region_).nodes.push_back(next.node);
    }
    map_.apply(module_.region(region_).yields);
    return change_;
  }

 private:
  /// is_done: a loop of one step whose body has been taken completely.
  struct Pending {
    NodeId node;
    bool is_done = false;
  };

  void push(const std::vector<NodeId>& nodes) {
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) pending_.push_back({*node});
  }

  void adopt(NodeId id) {
    ir::move_node(module_, id, region_);
    map_.apply(module_.node(id).inputs);
  }

  Expected<bool> inline_loop(NodeId id) {
    const auto steps = short_steps(module_, id);
    if (!steps || !which_(id)) return false;
    const Node node = module_.node(id);  // by value: adding nodes may move it
    builder_.set_location(node.location);
    if (*steps == 0) return skip(node);
    if (*steps == 1) return enter(id, node);
    SCANLOOM_CHECK_OK(unroll(node, *steps));
    return true;
  }

  bool skip(const Node& node) {
    const LoopPorts& ports = *node.loop;
    std::vector<tensor::Tensor> stacks;
    for (std::size_t i = 0; i < ports.stacked.size(); ++i) {
      const Type& type = module_.value(node.outputs[ports.carried + i]).type;
      auto empty = tensor::Tensor::zeros(type.dtype, type.shape());
      if (!empty) return false;
      stacks.push_back(*std::move(empty));
    }
    for (std::size_t i = 0; i < ports.carried; ++i)
      map_.set(node.outputs[i], node.inputs[ports.first_carried_input() + i]);
    for (std::size_t i = 0; i < stacks.size(); ++i)
      map_.set(node.outputs[ports.carried + i], builder_.constant(std::move(stacks[i])));
    return true;
  }

  Expected<bool> enter(NodeId id, const Node& node) {
    SCANLOOM_TRY(const std::vector<ValueId> arguments, arguments_of(node, 0, initial_values(node)));
    const ir::Region& body = module_.region(node.regions[0]);
    for (std::size_t i = 0; i < arguments.size(); ++i) map_.set(body.args[i], arguments[i]);
    pending_.push_back({id, true});
    push(body.nodes);
    return true;
  }

  Expected<void> leave(NodeId id) {
    const Node node = module_.node(id);  // by value: adding nodes may move it
    builder_.set_location(node.location);
    std::vector<ValueId> yields = module_.region(node.regions[0]).yields;
    map_.apply(yields);
    return set_results(node, {std::move(yields)});
  }

  Expected<void> unroll(const Node& node, std::int64_t steps) {
    const LoopPorts& ports = *node.loop;
    std::vector<ValueId> carried = initial_values(node);
    std::vector<std::vector<ValueId>> yields;
    for (std::int64_t step = 0; step < steps; ++step) {
      SCANLOOM_TRY(const std::vector<ValueId> arguments, arguments_of(node, step, carried));
      const std::size_t first_value = module_.value_count();
      yields.push_back(clone_region_into(module_, node.regions[0], region_, arguments));
      renew_sizes(module_, first_value);
      const auto next = yields.back().begin() + ports.first_carried_yield();
      carried.assign(next, next + ports.carried);
    }
    return set_results(node, yields);
  }

  static std::vector<ValueId> initial_values(const Node& node) {
    const auto first = node.inputs.begin() + node.loop->first_carried_input();
    return {first, first + node.loop->carried};
  }

  /// Returns the body's arguments in that step.
  Expected<std::vector<ValueId>> arguments_of(const Node& node, std::int64_t step,
                                              const std::vector<ValueId>& carried) {
    const auto captured = node.inputs.begin() + node.loop->first_captured_input();
    std::vector<ValueId> arguments(captured, captured + node.loop->captured);
    arguments.insert(arguments.end(), carried.begin(), carried.end());
    for (std::size_t i = 0; i < node.loop->scanned.size(); ++i) {
      SCANLOOM_TRY(const ValueId slice, slice_of(node, i, step));
      arguments.push_back(slice);
    }
    return arguments;
  }

  /// The slice of a scanned value that the step reads.
  Expected<ValueId> slice_of(const Node& node, std::size_t scanned, std::int64_t step) {
    const ir::ScannedPort& port = node.loop->scanned[scanned];
    const ValueId whole = node.inputs[node.loop->first_scanned_input() + scanned];
    const ir::Dim size = module_.value(whole).type.dims[static_cast<std::size_t>(port.axis)];
    const std::int64_t first = ir::scan_window(port, size.value()).first + step * port.stride;
    const ValueId start = list_of(first), end = list_of(first + port.part);
    SCANLOOM_TRY(const ValueId slice,
                 builder_.op(ops::slice_op, {whole, start, end, list_of(port.axis)}));
    if (!port.squeeze) return slice;
    return builder_.op(ops::squeeze_op, {slice}, {{"axes", std::vector<std::int64_t>{port.axis}}});
  }

  ValueId list_of(std::int64_t number) {
    return builder_.constant(tensor::Tensor::of<std::int64_t>({1}, {{number}}));
  }

  /// Final values and stacks, from what each step yields.
  Expected<void> set_results(const Node& node, const std::vector<std::vector<ValueId>>& yields) {
    const LoopPorts& ports = *node.loop;
    for (std::size_t i = 0; i < ports.carried; ++i)
      map_.set(node.outputs[i], yields.back()[ports.first_carried_yield() + i]);
    for (std::size_t i = 0; i < ports.stacked.size(); ++i) {
      std::vector<ValueId> rows;
      for (const std::vector<ValueId>& step : yields)
        rows.push_back(step[ports.first_stacked_yield() + i]);
      SCANLOOM_TRY(const ValueId stack, stack_of(std::move(rows), ports.stacked[i]));
      map_.set(node.outputs[ports.carried + i], stack);
    }
    return {};
  }

  Expected<ValueId> stack_of(std::vector<ValueId> rows, const ir::StackedPort& port) {
    if (port.reverse) std::ranges::reverse(rows);
    if (port.insert) {
      const std::vector<std::int64_t> axes{port.axis};
      for (ValueId& row : rows) {
        SCANLOOM_TRY(row, builder_.op(ops::unsqueeze_op, {row}, {{"axes", axes}}));
      }
    }
    if (rows.size() == 1) return rows[0];
    return builder_.op(ops::concat_op, std::move(rows), {{"axis", port.axis}});
  }

  Module& module_;
  ir::ValueMap& map_;
  const ir::RegionId region_;
  const WhichLoops& which_;
  ir::Builder builder_;
  std::vector<Pending> pending_;
  Change change_;
};

bool is_sum_or_product(const Module& module, const Node& node, bool product) {
  const bool is_one =
      product ? node.op == &ops::mul_op : node.op == &ops::add_op || node.op == &ops::sub_op;
  return is_one && is_real(module.value(node.outputs[0]).type);
}

bool has_loop(const Module& module, ir::RegionId body) {
  return std::ranges::any_of(ir::regions_outer_first(module, body), [&](ir::RegionId region) {
    return std::ranges::any_of(module.region(region).nodes,
                               [&](NodeId id) { return module.node(id).op == &ir::loop_op; });
  });
}

/// Whether a state is a single element.
bool carries_element(const Module& module, const Node& node) {
  const auto first = node.inputs.begin() + node.loop->first_carried_input();
  return std::any_of(first, first + node.loop->carried, [&](ValueId initial) {
    const Type& type = module.value(initial).type;
    return is_real(type) && type.is_static() && type.shape().elements() == 1;
  });
}

/// Whether linear_recurrences or fuse_multiply_add may find something in the loop. Loops in other
/// loops need not wait: the first pass leaves them alone, and the second finds the steps as well.
bool may_be_fast(const Module& module, const Node& node) {
  if (is_in_loop(module, node.parent) || has_loop(module, node.regions[0])) return false;
  if (carries_element(module, node)) return true;
  const auto has = [&](bool product) {
    return std::ranges::any_of(
        ir::regions_outer_first(module, node.regions[0]), [&](ir::RegionId region) {
          return std::ranges::any_of(module.region(region).nodes, [&](NodeId id) {
            return is_sum_or_product(module, module.node(id), product);
          });
        });
  };
  return has(true) && has(false);
}

}  // namespace

Expected<Change> unroll_loops(Module& module, const WhichLoops& which) {
  ir::ValueMap map(module);
  return sweep_reached(module, [&](ir::RegionId region) -> Expected<Change> {
    return Inliner(module, map, region, which).run();
  });
}

bool waits_to_unroll(const Module& module, NodeId loop, bool fast) {
  return may_accumulate(module, loop) || (fast && may_be_fast(module, module.node(loop)));
}

std::set<NodeId> short_loops(const Module& module) {
  std::set<NodeId> loops;
  for (const ir::RegionId region : ir::regions_outer_first(module, module.top()))
    for (const NodeId id : module.region(region).nodes)
      if (short_steps(module, id)) loops.insert(id);
  return loops;
}

Expected<Change> unroll_short_loop(ir::Module& module) {
  return unroll_loops(module, [&](NodeId loop) { return !waits_to_unroll(module, loop, false); });
}

}  // namespace scanloom::passes
