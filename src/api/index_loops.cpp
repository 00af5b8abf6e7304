#include "api/index_loops.h"

#include <algorithm>
#include <utility>

#include "ir/walk.h"
#include "ops/composer.h"
#include "ops/ops.h"

namespace scanloom {
namespace {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

/// Whether the node gives the same results if it is executed again, in another loop.
bool is_repeatable(const Node& node) {
  return node.op->effects != ir::Effects::random && node.op->effects != ir::Effects::state;
}

/// Whether computing indices twice, for the rows and for the rest of the step, costs little.
bool is_cheap(const Node& node) {
  const ir::OpDef& op = *node.op;
  const bool sums_products = op.access == ir::Access::contract || op.products != nullptr;
  return node.regions.empty() && !sums_products && !op.writes_part;
}

/// Copies what computes `yields` from the body of the loop to one of `made`.
void copy_body(Module& module, const TableLoop& loop, NodeId made, std::vector<ValueId> yields) {
  const ir::RegionId from = module.node(loop.loop).regions[0];
  const ir::RegionId to = module.add_region(made, module.region(from).name);
  module.node(made).regions.push_back(to);
  std::vector<ValueId> values;
  const std::vector<ValueId> args = module.region(from).args;
  for (const ValueId arg : args) {
    const bool is_needed = loop.needed.contains(arg);
    values.push_back(is_needed
                         ? module.add_argument(to, module.value(arg).type, module.value(arg).name)
                         : ValueId());
  }
  std::swap(module.region(from).yields, yields);
  std::vector<NodeId> needed_nodes = module.region(from).nodes;
  std::erase_if(needed_nodes, [&](NodeId id) {
    return std::ranges::none_of(module.node(id).outputs,
                                [&](ValueId x) { return loop.needed.contains(x); });
  });
  std::swap(module.region(from).nodes, needed_nodes);
  std::vector<ValueId> copied = ir::clone_region_into(module, from, to, values);
  std::swap(module.region(from).nodes, needed_nodes);
  std::swap(module.region(from).yields, yields);
  ir::Builder builder(module, to);
  ops::Composer c(builder);
  for (std::size_t i = copied.size() - loop.rows.size(); i < copied.size(); ++i)
    copied[i] = c.cast(copied[i], DType::i64);
  module.region(to).yields = std::move(copied);
}

}  // namespace

bool find_needed(const Module& module, TableLoop& loop) {
  const Node& node = module.node(loop.loop);
  const ir::Region& body = module.region(node.regions[0]);
  const std::set<ValueId> dependent = dependent_values(module, loop.loop, loop.body.tables);
  std::vector<ValueId> pending = loop.rows;
  // The loop that computes the indices ends with the same step.
  if (node.loop->has_keep_going) pending.push_back(body.yields[0]);
  while (!pending.empty()) {
    const ValueId value = pending.back();
    pending.pop_back();
    if (!value.valid() || !loop.needed.insert(value).second) continue;
    if (dependent.contains(value)) return false;
    const NodeId producer = module.value(value).producer;
    if (producer.valid()) {
      const Node& made_by = module.node(producer);
      if (!is_repeatable(made_by) || !is_cheap(made_by)) return false;
      pending.insert(pending.end(), made_by.inputs.begin(), made_by.inputs.end());
      continue;
    }
    const std::size_t at = module.value(value).index;
    const std::size_t first = node.loop->captured;
    if (at >= first && at < first + node.loop->carried)
      pending.push_back(body.yields[node.loop->first_carried_yield() + at - first]);
  }
  return true;
}

std::vector<ValueId> needed_inputs(const Module& module, const TableLoop& loop) {
  const Node& node = module.node(loop.loop);
  const std::vector<ValueId>& args = module.region(node.regions[0]).args;
  const std::size_t first = node.loop->first_captured_input();
  std::vector<ValueId> inputs{node.inputs[0]};
  for (std::size_t i = 0; i < args.size(); ++i)
    if (loop.needed.contains(args[i])) inputs.push_back(node.inputs[first + i]);
  return inputs;
}

std::vector<ValueId> add_index_loop(Module& module, const TableLoop& loop) {
  const ir::RegionId body = module.node(loop.loop).regions[0];
  const ir::LoopPorts old = *module.node(loop.loop).loop;
  const std::vector<ValueId> args = module.region(body).args;
  ir::LoopPorts ports = old;
  ports.captured = ports.carried = 0;
  ports.scanned.clear();
  ports.stacked.assign(loop.rows.size(), {});
  std::vector<tensor::Type> types;
  std::vector<ValueId> next;
  if (old.has_keep_going) next.push_back(module.region(body).yields[0]);
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!loop.needed.contains(args[i])) continue;
    if (i < old.captured) {
      ++ports.captured;
    } else if (i < old.captured + old.carried) {
      ++ports.carried;
      types.push_back(module.value(args[i]).type);
      next.push_back(module.region(body).yields[old.first_carried_yield() + i - old.captured]);
    } else {
      ports.scanned.push_back(old.scanned[i - old.captured - old.carried]);
    }
  }
  const tensor::Dim steps = module.dims.fresh();
  for (const ValueId rows : loop.rows) {
    types.push_back(tensor::Type::of(DType::i64, module.value(rows).type.dims));
    types.back().dims.insert(types.back().dims.begin(), steps);
    next.push_back(rows);
  }
  const NodeId made = module.add_node(module.top(), ir::loop_op, needed_inputs(module, loop), {},
                                      std::move(types), module.node(loop.loop).location);
  module.node(made).loop = ports;
  copy_body(module, loop, made, std::move(next));
  const std::vector<ValueId>& outputs = module.node(made).outputs;
  return {outputs.begin() + ports.carried, outputs.end()};
}

}  // namespace scanloom
