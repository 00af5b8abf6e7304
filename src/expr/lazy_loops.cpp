#include "expr/lazy_loops.h"

#include <algorithm>
#include <unordered_set>

#include "expr/harmless.h"
#include "expr/loop.h"
#include "expr/places.h"

namespace scanloom::expr {
namespace {

/// Captured operands of loops, and whether something that is always computed reads them, too.
class Operands {
 public:
  explicit Operands(const std::vector<Expr>& outputs)
      : nodes_(reachable(outputs)), harmless_(nodes_) {
    if (std::ranges::none_of(nodes_, [&](const Node* node) { return may_sink(*node); })) return;
    const Places places(outputs);
    for (const Expr& x : outputs) needed_.insert(x.node().get());
    for (const Node* node : nodes_) {
      if (!places.is_always(*node)) continue;
      const std::size_t end = node->kind == Kind::branch ? 1 : node->inputs.size();
      for (std::size_t i = 0; i < end; ++i)
        if (node->inputs[i].defined() && !is_captured(*node, i))
          needed_.insert(node->inputs[i].node().get());
    }
  }

  [[nodiscard]] const std::vector<const Node*>& nodes() const { return nodes_; }
  /// The numbers of the captured operands that only sides of the loop's body need.
  [[nodiscard]] std::vector<std::size_t> to_sink(const Node& loop) const {
    std::vector<std::size_t> found;
    if (!may_sink(loop)) return found;
    const Places inner(loop.body.yields);
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
                .place = loop.place};
  Replacements inside;
  for (auto i = sunk.rbegin(); i != sunk.rend(); ++i) {
    const auto at = static_cast<std::ptrdiff_t>(*i);
    inside.emplace(key_of(spec.args[*i]), spec.operands[first + *i]);
    spec.operands.erase(spec.operands.begin() + static_cast<std::ptrdiff_t>(first) + at);
    spec.args.erase(spec.args.begin() + at);
    --spec.facts.ports.captured;
  }
  spec.yields = substituted(loop.body.yields, inside);
  return make_lazy_loop(std::move(spec));
}

}  // namespace

std::vector<Expr> with_lazy_loops(const std::vector<Expr>& outputs, Replacements kept) {
  const Operands operands(outputs);
  bool changed = false;
  for (const Node* node : operands.nodes()) {
    const std::vector<std::size_t> sunk = operands.to_sink(*node);
    if (sunk.empty() || kept.contains({node, 0})) continue;
    changed = true;
    const std::vector<Expr> made = lazy(*node, sunk, kept);
    for (std::uint32_t i = 0; i < made.size(); ++i) kept.insert_or_assign({node, i}, made[i]);
  }
  return changed ? substituted(outputs, kept) : outputs;
}

}  // namespace scanloom::expr
