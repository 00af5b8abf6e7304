#include "expr/harmless.h"

#include <algorithm>

#include "ir/op_def.h"

namespace scanloom::expr {
namespace {

// Recursion depth is the nesting depth of loops.
bool is_harmless(const Node& node) {
  if (node.kind == Kind::op) return node.op->effects == ir::Effects::pure;
  if (node.kind == Kind::failed) return false;
  if (!node.loop) return true;
  if (!node.loop->ports.has_trip_count || node.loop->ports.has_keep_going) return false;
  const std::vector<const Node*> body = reachable(node.body.yields);
  return std::ranges::all_of(body, [](const Node* each) { return is_harmless(*each); });
}

}  // namespace

bool reads_sizes_alone(const Node& node) {
  return node.kind == Kind::op && node.op->reads_only_sizes();
}

Harmless::Harmless(std::span<const Node* const> nodes) {
  for (const Node* node : nodes) {
    const bool operands =
        reads_sizes_alone(*node) || std::ranges::all_of(node->inputs, [&](const Expr& x) {
          return !x.defined() || nodes_.contains(x.node().get());
        });
    if (operands && is_harmless(*node)) nodes_.insert(node);
  }
}

}  // namespace scanloom::expr
