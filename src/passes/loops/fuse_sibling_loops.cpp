// Fuses sibling loops: loops of one region that take equally many steps and do not depend on each
// other become one. What they share is read once per step, and the steps are counted once. It runs
// after merge_common, which makes equal trip counts one value, and before drop_dead_code;
// simplify_ports then unites equal ports.
//
// Levels show that loops do not depend on each other: a node's level is the highest of its
// operands, a loop's is one more, so loops of the same level cannot reach each other. Loops are
// merged only if their bodies become machine code in the same way (plan/bind/whole_loop.cpp: one
// element program over equal lanes; plan/bind/body_legality.cpp: anything else that is not too
// large); otherwise one would slow down the other.
#include <algorithm>
#include <compare>
#include <map>

#include "passes/analysis/body_kinds.h"
#include "passes/loops/joined_loops.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Dim;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

// The number of loops with the same key that are compared; it bounds the cost of any model.
constexpr std::size_t kMaxCandidates = 8;

/// Loops with equal keys may be merged.
struct Key {
  std::uint32_t level = 0;
  bool fixed_sizes = false;
  StepCount count;
  std::optional<Dim> lanes;  ///< for bodies that are one element program
  friend auto operator<=>(const Key&, const Key&) = default;
};

/// One region.
class Merger {
 public:
  Merger(Module& module, ir::RegionId region, std::vector<std::uint32_t>& levels)
      : module_(module), region_(region), levels_(levels) {}

  Change run() {
    const std::vector<NodeId> nodes = module_.region(region_).nodes;
    for (const NodeId id : nodes) {
      set_level(id);
      if (module_.node(id).op == &ir::loop_op) visit(id);
    }
    if (change_.changed) restore_order(module_, region_);
    return change_;
  }

 private:
  void set_level(NodeId id) {
    std::uint32_t level = 0;
    for (const ValueId input : module_.node(id).inputs)
      if (input.valid() && module_.value(input).producer.valid())
        level = std::max(level, levels_[module_.value(input).producer.index]);
    levels_[id.index] = level + (module_.node(id).op == &ir::loop_op ? 1 : 0);
  }

  /// Merges the loop into an earlier one, or keeps it for later ones.
  void visit(NodeId id) {
    const auto key = key_of(id);
    if (!key) return;
    std::vector<NodeId>& candidates = loops_[*key];
    for (const NodeId first : candidates)
      if (fit_together(first, id)) {
        absorb(module_, first, id);
        change_.changed = true;
        return;
      }
    if (candidates.size() < kMaxCandidates) candidates.push_back(id);
  }

  std::optional<Key> key_of(NodeId id) {
    const Node& node = module_.node(id);
    if (!can_be_joined(module_, node)) return std::nullopt;
    const auto count = count_steps(module_, node);
    if (!count) return std::nullopt;
    return Key{.level = levels_[id.index],
               .fixed_sizes = node.loop->fixed_sizes,
               .count = *count,
               .lanes = lanes_of(module_, node.regions[0])};
  }

  [[nodiscard]] bool fit_together(NodeId a, NodeId b) const {
    return bodies_fit_together(module_, a, b) &&
           stacked_bytes(module_, module_.node(a)) + stacked_bytes(module_, module_.node(b)) <=
               kMaxStackedBytes;
  }

  Module& module_;
  const ir::RegionId region_;
  std::vector<std::uint32_t>& levels_;
  std::map<Key, std::vector<NodeId>> loops_;
  Change change_;
};

}  // namespace

Expected<Change> fuse_sibling_loops(ir::Module& module) {
  Change change;
  std::vector<std::uint32_t> levels(module.node_count());
  for (const ir::RegionId region : regions_outer_first(module, module.top()))
    change |= Merger(module, region, levels).run();
  return change;
}

}  // namespace scanloom::passes
