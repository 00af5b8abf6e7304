// Replaces a branch on a constant by the region that runs. It runs first, so that the contents of
// the region are in one region with the rest.
#include "ir/op_def.h"
#include "ir/walk.h"
#include "passes/analysis/loop_facts.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

/// One region: nodes are taken from a stack, on which the nodes of a branch's region replace it.
class BranchInliner {
 public:
  BranchInliner(Module& module, ir::ValueMap& map, ir::RegionId region)
      : module_(module), map_(map), region_(region) {}

  Change run() {
    push(module_.region(region_).nodes);
    std::vector<NodeId> nodes;
    while (!pending_.empty()) {
      const NodeId node = pending_.back();
      pending_.pop_back();
      adopt(node);
      if (!inline_node(module_.node(node))) nodes.push_back(node);
    }
    module_.region(region_).nodes = std::move(nodes);
    map_.apply(module_.region(region_).yields);
    return change_;
  }

 private:
  void push(const std::vector<NodeId>& nodes) {
    pending_.insert(pending_.end(), nodes.rbegin(), nodes.rend());
  }

  void adopt(NodeId id) {
    ir::move_node(module_, id, region_);
    map_.apply(module_.node(id).inputs);
  }

  bool inline_node(const Node& node) {
    const bool done = node.op == &ir::branch_op && inline_branch(node);
    change_.changed |= done;
    return done;
  }

  bool inline_branch(const Node& node) {
    const auto condition = known_boolean(module_, node.inputs[0]);
    if (!condition) return false;
    const ir::Region& side = module_.region(node.regions[*condition ? 0 : 1]);
    for (std::size_t i = 0; i < side.args.size(); ++i) map_.set(side.args[i], node.inputs[i + 1]);
    for (std::size_t i = 0; i < side.yields.size(); ++i) map_.set(node.outputs[i], side.yields[i]);
    push(side.nodes);
    return true;
  }

  Module& module_;
  ir::ValueMap& map_;
  const ir::RegionId region_;
  std::vector<NodeId> pending_;
  Change change_;
};

}  // namespace

Expected<Change> inline_branch(ir::Module& module) {
  ir::ValueMap map(module);
  return sweep_reached(module, [&](ir::RegionId region) -> Expected<Change> {
    return BranchInliner(module, map, region).run();
  });
}

}  // namespace scanloom::passes
