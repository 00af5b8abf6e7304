// Fuses a loop with another loop of the region that scans its rows in the order in which they are
// made: each row is used in the step that makes it, and the sequence between them disappears.
// Element-wise and view nodes between the two move into the body if nothing else reads them.
//
// batch_over_time and this pass could undo each other. A product that is faster for all steps at
// once (over_time.h) has been moved between the two loops and keeps them apart; so does one that is
// still in the body of the second. Otherwise the conditions are those of loops that merge, since
// one loop could be slower than both.
//
// It runs after the passes that move products out of bodies, and after stack_growth, which makes
// stacks; and before fuse_sibling_loops, because a loop merged with one that reads a final state of
// its producer can no longer be fused.
#include <algorithm>

#include "ir/walk.h"
#include "passes/analysis/body_kinds.h"
#include "passes/analysis/loop_facts.h"
#include "passes/analysis/over_time.h"
#include "passes/loops/fuse_rows.h"
#include "passes/loops/joined_loops.h"
#include "passes/pass.h"
#include "passes/streaming/row_flow.h"

namespace scanloom::passes {
namespace {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

/// The limit for values visited in search of the loops that make what a loop scans.
constexpr std::size_t kMaxFollowed = 32;
/// The limit for nodes and ports visited in a module to decide whether two loops may be fused; it
/// bounds the cost of any model.
constexpr std::size_t kMaxVisited = 1 << 20;

/// Whether both bodies become machine code in the same way, and either both loops take their steps
/// in order or neither does: other steps may run in parallel, unless the loop is inside another
/// one.
bool are_alike(Module& module, NodeId a, NodeId b) {
  const Node &first = module.node(a), &second = module.node(b);
  if (first.loop->fixed_sizes != second.loop->fixed_sizes || !bodies_fit_together(module, a, b))
    return false;
  const auto lanes = lanes_of(module, first.regions[0]);
  if (lanes != lanes_of(module, second.regions[0]) || crowds_registers(module, first, second))
    return false;
  return lanes || runs_parallel_steps(module, a) == runs_parallel_steps(module, b);
}

/// Returns the loops whose rows the consumer may scan.
std::vector<NodeId> producers_of(const Module& module, NodeId consumer) {
  const Node& node = module.node(consumer);
  std::vector<ValueId> pending(node.inputs.begin() + node.loop->first_scanned_input(),
                               node.inputs.end());
  std::vector<NodeId> loops;
  for (std::size_t i = 0; i < pending.size() && i < kMaxFollowed; ++i) {
    const NodeId id = pending[i].valid() ? module.value(pending[i]).producer : NodeId();
    if (!id.valid()) continue;
    const Node& maker = module.node(id);
    if (maker.op != &ir::loop_op)
      pending.insert(pending.end(), maker.inputs.begin(), maker.inputs.end());
    else if (std::ranges::find(loops, id) == loops.end())
      loops.push_back(id);
  }
  return loops;
}

/// False: the consumer certainly needs more of the producer than its rows, or needs them in another
/// order.
bool may_scan_rows(const Module& module, NodeId producer, NodeId consumer) {
  const Node &first = module.node(producer), &second = module.node(consumer);
  const std::size_t scanned = second.loop->first_scanned_input();
  for (std::size_t i = second.loop->first_captured_input(); i < second.inputs.size(); ++i) {
    const ir::Value& value = module.value(second.inputs[i]);
    if (value.producer != producer) continue;
    if (i < scanned || value.index < first.loop->carried) return false;
    const ir::StackedPort& made = first.loop->stacked[value.index - first.loop->carried];
    const ir::ScannedPort& read = second.loop->scanned[i - scanned];
    if (read.axis != made.axis || (read.stride < 0) != made.reverse) return false;
  }
  return true;
}

/// Returns how much there is to visit in a loop.
std::size_t extent_of(const Module& module, NodeId id) {
  const Node& loop = module.node(id);
  return loop.inputs.size() + loop.outputs.size() + module.region(loop.regions[0]).nodes.size();
}

/// Fuses loops in the regions of a module, one region after the other.
class Fuser {
 public:
  explicit Fuser(Module& module) : module_(module), uses_(count_uses(module)), order_(module) {}

  Expected<Change> run(ir::RegionId region) {
    Change change;
    const std::vector<NodeId> nodes = module_.region(region).nodes;
    order_.enter(region);
    for (const NodeId id : nodes) {
      if (module_.node(id).op != &ir::loop_op) continue;
      SCANLOOM_TRY(const bool fused, fuse_with_producer(id));
      change.changed |= fused;
    }
    if (change.changed) restore_order(module_, region);
    return change;
  }

 private:
  Expected<bool> fuse_with_producer(NodeId consumer) {
    if (!can_be_joined(module_, module_.node(consumer))) return false;
    for (const NodeId producer : producers_of(module_, consumer)) {
      if (!may_scan_rows(module_, producer, consumer)) continue;
      if (visited_ + order_.visited() >= kMaxVisited) return false;
      visited_ += extent_of(module_, producer) + extent_of(module_, consumer);
      if (!can_be_joined(module_, module_.node(producer)) ||
          !are_alike(module_, producer, consumer))
        continue;
      SCANLOOM_TRY(const bool fused, fuse_rows(module_, producer, consumer, uses_,
                                               order_.between(producer, consumer)));
      if (!fused) continue;
      order_.join(producer, consumer);
      return true;
    }
    return false;
  }

  Module& module_;
  std::vector<std::uint32_t> uses_;
  NodeOrder order_;
  std::size_t visited_ = 0;  ///< counts towards kMaxVisited, in addition to the visits of order_
};

}  // namespace

Expected<Change> fuse_producer_loop(ir::Module& module) {
  Change change;
  Fuser fuser(module);
  for (const ir::RegionId region : regions_outer_first(module, module.top())) {
    SCANLOOM_TRY(const Change here, fuser.run(region));
    change |= here;
  }
  return change;
}

}  // namespace scanloom::passes
