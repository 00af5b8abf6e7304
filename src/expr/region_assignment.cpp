#include "expr/region_assignment.h"

#include <algorithm>
#include <utility>

namespace scanloom::expr {
namespace {

/// Prevents a chain of branches with shared operands from doubling at each branch.
constexpr std::size_t kMaxCopies = 4;
constexpr int kDeepest = 200;  // limits how deep branches nest

/// The regions of a branch are created in pairs, after region 0.
AssignedRegion other_region(AssignedRegion region) {
  return region % 2 == 1 ? region + 1 : region - 1;
}

}  // namespace

RegionAssignment::RegionAssignment(std::span<const Expr> outputs,
                                   const std::function<bool(const Node&)>& takes)
    : regions_(1) {
  const auto is_taken = [&](const Node& node) {
    return takes && takes(node) && stable_.insert(&node).second;
  };
  const std::vector<const Node*> nodes = reachable(outputs, is_taken);
  for (const Expr& x : outputs) use(x, 0);
  // Readers of a node are younger, so all its uses are known when it is visited.
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    const std::vector<AssignedRegion>& at = regions_of_.at(*node);
    for (const AssignedRegion region : at) regions_[region].nodes.push_back(*node);
    for (const AssignedRegion region : std::vector(at)) use_operands(**node, region);
  }
  for (RegionRow& row : regions_) std::ranges::reverse(row.nodes);
}

void RegionAssignment::use_operands(const Node& node, AssignedRegion region) {
  if (takes_stable_form(node)) return use(node.stable->value, region);
  if (node.kind != Kind::branch || regions_[region].depth == kDeepest) {
    for (const Expr& x : node.inputs) use(x, region);
    return;
  }
  const AssignedRegion then = regions_.size();
  regions_.resize(then + 2,
                  {.parent = region, .branch = &node, .depth = regions_[region].depth + 1});
  regions_[region].then.emplace(&node, then);
  const std::size_t results = node.outputs.size();
  use(node.inputs[0], region);
  for (std::size_t i = 0; i < 2 * results; ++i) use(node.inputs[1 + i], then + i / results);
}

void RegionAssignment::use(const Expr& x, AssignedRegion region) {
  if (!x.defined()) return;
  std::vector<AssignedRegion>& all = regions_of_[x.node().get()];
  for (;;) {
    if (std::ranges::any_of(all, [&](AssignedRegion old) { return is_within(region, old); }))
      return;
    std::erase_if(all, [&](AssignedRegion old) { return is_within(old, region); });
    if (region == 0 || std::ranges::find(all, other_region(region)) == all.end()) break;
    region = regions_[region].parent;
  }
  all.push_back(region);
  if (all.size() <= kMaxCopies) return;
  AssignedRegion before = all[0];
  for (const AssignedRegion each : all) before = common(before, each);
  all = {before};
}

bool RegionAssignment::is_within(AssignedRegion inner, AssignedRegion outer) const {
  while (regions_[inner].depth > regions_[outer].depth) inner = regions_[inner].parent;
  return inner == outer;
}

AssignedRegion RegionAssignment::common(AssignedRegion a, AssignedRegion b) const {
  while (a != b) {
    if (regions_[a].depth < regions_[b].depth) std::swap(a, b);
    a = regions_[a].parent;
  }
  return a;
}

AssignedRegion RegionAssignment::branch_region(AssignedRegion region, const Node& branch,
                                               std::size_t which) const {
  const auto found = regions_[region].then.find(&branch);
  return found == regions_[region].then.end() ? region : found->second + which;
}

bool RegionAssignment::is_at(const Node& node, AssignedRegion region) const {
  const auto found = regions_of_.find(&node);
  return found != regions_of_.end() &&
         std::ranges::find(found->second, region) != found->second.end();
}

}  // namespace scanloom::expr
