#include "expr/lazy_loops.h"

#include <algorithm>
#include <unordered_set>

#include "expr/harmless.h"
#include "expr/loop.h"
#include "expr/region_assignment.h"

namespace scanloom::expr {
namespace {

/// Returns the step's yields with the sizes of captured values captured too: values read only for
/// their sizes need not be computed.
std::vector<Expr> with_sizes_from_outside(const Node& loop) {
  Replacements outside, sizes;
  for (std::size_t i = 0; i < loop.loop->ports.captured; ++i)
    outside.emplace(key_of(loop.body.args[i]),
                    loop.inputs[loop.loop->ports.first_captured_input() + i]);
  for (const Node* node : reachable(loop.body.yields)) {
    if (!reads_sizes_alone(*node)) continue;
    const auto found = outside.find(key_of(node->inputs[0]));
    if (found != outside.end())
      sizes.emplace(ExprKey{node, 0}, with_inputs(*node, {found->second}).front());
  }
  return sizes.empty() ? loop.body.yields : substituted(loop.body.yields, sizes);
}

/// Captured operands of loops, and whether something that is always computed reads them too.
class Operands {
 public:
  explicit Operands(const std::vector<Expr>& outputs)
      : nodes_(reachable(outputs)), harmless_(nodes_) {
    if (std::ranges::none_of(nodes_, [&](const Node* node) { return may_sink(*node); })) return;
    const RegionAssignment regions(outputs);
    for (const Expr& x : outputs) needed_.insert(x.node().get());
    for (const Node* node : nodes_) {
      if (!regions.is_always(*node) || reads_sizes_alone(*node)) continue;
      const std::size_t end = node->kind == Kind::branch ? 1 : node->inputs.size();
      for (std::size_t i = 0; i < end; ++i)
        if (node->inputs[i].defined() && !is_captured(*node, i))
          needed_.insert(node->inputs[i].node().get());
    }
  }

  [[nodiscard]] const std::vector<const Node*>& nodes() const { return nodes_; }
  /// Returns the positions of the captured operands that only branch regions of the loop's body
  /// need.
  [[nodiscard]] std::vector<std::size_t> to_sink(const Node& loop) const {
    std::vector<std::size_t> found;
    if (!may_sink(loop)) return found;
    const RegionAssignment inner(with_sizes_from_outside(loop));
    for (std::uint32_t i = 0; i < loop.loop->ports.captured; ++i) {
      const Node& operand = *loop.inputs[loop.loop->ports.first_captured_input() + i].node();
      if (!harmless_.contains(operand) && !needed_.contains(&operand) &&
          !inner.is_always(*loop.body.args[i].node()))
        found.push_back(i);
    }
    return found;
  }

 private:
  static bool is_captured(const Node& node, std::size_t operand) {
    if (!node.loop) return false;
    const std::size_t first = node.loop->ports.first_captured_input();
    return operand >= first && operand < first + node.loop->ports.captured;
  }
  [[nodiscard]] bool may_sink(const Node& node) const {
    if (!node.loop) return false;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (is_captured(node, i) && !harmless_.contains(*node.inputs[i].node())) return true;
    return false;
  }

  std::vector<const Node*> nodes_;
  Harmless harmless_;
  std::unordered_set<const Node*> needed_;
};

std::vector<Expr> lazy(const Node& loop, const std::vector<std::size_t>& sunk, Replacements& made) {
  const std::size_t first = loop.loop->ports.first_captured_input();
  LoopSpec spec{.facts = *loop.loop,
                .operands = substituted(loop.inputs, made),
                .args = loop.body.args,
                .yields = {},
                .location = loop.location};
  Replacements inside;
  for (auto i = sunk.rbegin(); i != sunk.rend(); ++i) {
    const auto at = static_cast<std::ptrdiff_t>(*i);
    inside.emplace(key_of(spec.args[*i]), spec.operands[first + *i]);
    spec.operands.erase(spec.operands.begin() + static_cast<std::ptrdiff_t>(first) + at);
    spec.args.erase(spec.args.begin() + at);
    --spec.facts.ports.captured;
  }
  spec.yields = substituted(with_sizes_from_outside(loop), inside);
  return make_lazy_loop(std::move(spec));
}

/// Copies x, starting at the nodes that may fail.
Expr copied(const Expr& x, const Harmless& harmless) {
  Replacements fresh;
  for (const Node* node : reachable({&x, 1})) {
    const auto is_safe = [&](const Expr& from) {
      return !from.defined() || harmless.contains(*from.node());
    };
    if (node->kind != Kind::op || harmless.contains(*node) ||
        !std::ranges::all_of(node->inputs, is_safe))
      continue;
    const std::vector<Expr> again = with_inputs(*node, node->inputs);
    for (std::uint32_t i = 0; i < again.size(); ++i) fresh.emplace(ExprKey{node, i}, again[i]);
  }
  return substituted({x}, fresh).front();
}

/// Returns the outputs reading the sizes of copies, for values that only branch regions compute:
/// passes find the sizes without the copies, and the originals are needed nowhere else.
std::vector<Expr> with_sizes_apart(const std::vector<Expr>& outputs, const Replacements& kept) {
  const std::vector<const Node*> nodes = reachable(outputs);
  if (std::ranges::none_of(
          nodes, [](const Node* node) { return node->loop || node->kind == Kind::branch; }))
    return outputs;
  const Harmless harmless(nodes);
  std::vector<const Node*> readers;
  Replacements cut = kept, replaced = kept;
  for (const Node* node : nodes) {
    if (!reads_sizes_alone(*node) || harmless.contains(*node->inputs[0].node()) ||
        kept.contains({node, 0}))
      continue;
    readers.push_back(node);
    cut.insert_or_assign({node, 0}, placeholder(node->outputs[0]));
  }
  if (readers.empty()) return outputs;
  const std::vector<Expr> rest = substituted(outputs, cut);
  const RegionAssignment regions(rest);
  for (const Node* node : readers) {
    const Expr& x = node->inputs[0];
    const auto now = cut.find(key_of(x));
    const Expr& value = now == cut.end() ? x : now->second;
    if (regions.is_always(*value.node())) continue;
    replaced.insert_or_assign({node, 0}, with_inputs(*node, {copied(x, harmless)}).front());
  }
  return substituted(outputs, replaced);
}

}  // namespace

std::vector<Expr> with_lazy_loops(const std::vector<Expr>& given, const Replacements& kept) {
  const std::vector<Expr> outputs = with_sizes_apart(given, kept);
  const Operands operands(outputs);
  Replacements made = kept;
  bool changed = false;
  for (const Node* node : operands.nodes()) {
    const std::vector<std::size_t> sunk = operands.to_sink(*node);
    if (sunk.empty() || made.contains({node, 0})) continue;
    changed = true;
    const std::vector<Expr> results = lazy(*node, sunk, made);
    for (std::uint32_t i = 0; i < results.size(); ++i) made.insert_or_assign({node, i}, results[i]);
  }
  // Loops that have become lazy capture sizes too.
  return changed ? with_sizes_apart(substituted(outputs, made), kept) : outputs;
}

}  // namespace scanloom::expr
