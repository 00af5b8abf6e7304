#include "expr/substitute.h"

#include <algorithm>
#include <unordered_set>

#include "expr/apply.h"
#include "expr/branch.h"
#include "ops/ops.h"

namespace scanloom::expr {
namespace {

/// A loop keeps its body, which reads nothing outside.
std::vector<Expr> with_same_body(const Node& node, std::vector<Expr> inputs) {
  if (const Expr* bad = first_failed(inputs)) return std::vector(node.outputs.size(), *bad);
  auto made = std::make_shared<Node>(node.kind, node.outputs);
  made->op = node.op;
  made->inputs = std::move(inputs);
  made->attrs = node.attrs;
  made->loop = node.loop;
  made->body = node.body;
  std::vector<Expr> results;
  for (std::uint32_t i = 0; i < node.outputs.size(); ++i) results.emplace_back(made, i);
  return results;
}

std::vector<Expr> remade(const Node& node, std::vector<Expr> inputs) {
  if (node.kind == Kind::loop) return with_same_body(node, std::move(inputs));
  if (node.kind == Kind::op)
    return apply_attrs(*node.op, std::move(inputs), node.attrs, node.outputs.size());
  const auto half = inputs.begin() + 1 + static_cast<std::ptrdiff_t>(node.outputs.size());
  return make_branch(inputs[0], {inputs.begin() + 1, half}, {half, inputs.end()});
}

}  // namespace

std::vector<Expr> with_inputs(const Node& node, std::vector<Expr> inputs) {
  std::vector<Expr> results = remade(node, std::move(inputs));
  if (!node.location.empty() && results[0].error() == nullptr)
    results[0].node()->location = node.location;
  if (results[0].error() == nullptr) {
    Node& made = *results[0].node();
    made.stops_gradient |= node.stops_gradient;
    if (node.gradient_limits) made.gradient_limits = node.gradient_limits;
    if (node.gradient_factor) made.gradient_factor = node.gradient_factor;
    if (node.no_gradient) made.no_gradient = node.no_gradient;
    made.built_of.insert(made.built_of.end(), node.built_of.begin(), node.built_of.end());
  }
  for (std::size_t i = 0; i < results.size(); ++i)
    if (i < node.names.size() && !node.names[i].empty()) results[i].named(node.names[i]);
  return results;
}

std::vector<Expr> substituted(const std::vector<Expr>& outputs, Replacements& replacements) {
  std::unordered_set<const Node*> changed;
  const auto is_changed = [&](const Expr& x) {
    return x.defined() && (replacements.contains(key_of(x)) || changed.contains(x.node().get()));
  };
  const auto now = [&](const Expr& x) {
    if (!x.defined()) return x;
    const auto found = replacements.find(key_of(x));
    return found == replacements.end() ? x : found->second;
  };
  for (const Node* node : reachable(outputs)) {
    if (std::ranges::none_of(node->inputs, is_changed)) continue;
    changed.insert(node);
    std::vector<Expr> inputs;
    for (const Expr& x : node->inputs) inputs.push_back(now(x));
    const std::vector<Expr> made = with_inputs(*node, std::move(inputs));
    if (node->part) {
      auto part = std::make_shared<PartOf>(*node->part);
      part->whole = now(part->whole);
      for (Index& item : part->items)
        for (Expr* x : {&item.at, &item.start, &item.stop, &item.step}) *x = now(*x);
      made[0].node()->part = std::move(part);
    }
    if (node->last_row) made[0].node()->last_row = std::make_shared<Expr>(now(*node->last_row));
    for (std::uint32_t i = 0; i < made.size(); ++i) replacements.try_emplace({node, i}, made[i]);
  }
  std::vector<Expr> results;
  for (const Expr& x : outputs) results.push_back(now(x));
  return results;
}

namespace {

Error not_fitting(const Expr& from, const Expr& to) {
  return fail(Code::invalid_argument, "{} stands for {}, but is {}, not {}", describe(to),
              describe(from), to_string(type_of(to)), to_string(type_of(from)));
}

/// Gives `to` the known sizes of `from`: expressions made from it rely on them.
Expr standing_for(const Expr& from, Expr to) {
  for (const Expr* x : {&from, &std::as_const(to)})
    if (Expr bad = unusable(*x); bad.defined()) return bad;
  if (to.node()->weak && to.rank() == 0) to = cast(to, from.dtype());
  if (to.dtype() != from.dtype() || to.rank() != from.rank()) return failed(not_fitting(from, to));
  std::vector<Index> items(from.sizes().size(), Index::all());
  std::vector<std::int64_t> sizes(to.sizes().begin(), to.sizes().end());
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const std::int64_t wanted = from.sizes()[axis], given = sizes[axis];
    if (wanted < 0 || wanted == given) continue;
    if (given >= 0) return failed(not_fitting(from, to));
    items[axis] = Index::slice(
        {}, apply(ops::check_equal_op, {size(to, static_cast<int>(axis)), integer(wanted)},
                  {{"text", "the replacement of " + describe(from) + " has size {} on axis " +
                                std::to_string(axis) + ", not {}"}}));
    sizes[axis] = wanted;
  }
  if (std::ranges::equal(sizes, to.sizes())) return to;
  Expr checked = subtensor(to, items);
  if (checked.error() == nullptr) checked.node()->outputs[0].sizes = std::move(sizes);
  return checked;
}

}  // namespace
}  // namespace scanloom::expr

namespace scanloom {
namespace {

/// Each once, in the order of their creation.
std::vector<Expr> in_order(std::vector<Expr> found) {
  std::ranges::sort(found, {}, [](const Expr& x) { return x.node()->id; });
  const auto [first, last] = std::ranges::unique(found);
  found.erase(first, last);
  return found;
}

}  // namespace

Expr checked_equal(const Expr& a, const Expr& b, std::string text, std::string where) {
  if (const Expr* bad = expr::first_failed(std::vector{a, b})) return *bad;
  Expr checked = expr::apply(ops::check_equal_op, {cast(a, DType::i64), cast(b, DType::i64)},
                             {{"text", std::move(text)}});
  if (checked.error() == nullptr) checked.node()->location = std::move(where);
  return checked;
}

Expr disconnected(const Expr& x) {
  if (x.error() != nullptr) return x;
  Expr same = expr::apply(ops::identity_op, {x});
  if (same.error() == nullptr) same.node()->stops_gradient = true;
  return same;
}

Expr clip_gradient(const Expr& x, double least, double greatest) {
  if (x.error() != nullptr) return x;
  Expr same = expr::apply(ops::identity_op, {x});
  if (same.error() == nullptr) same.node()->gradient_limits = std::pair(least, greatest);
  return same;
}

Expr scale_gradient(const Expr& x, double factor) {
  if (x.error() != nullptr) return x;
  Expr same = expr::apply(ops::identity_op, {x});
  if (same.error() == nullptr) same.node()->gradient_factor = factor;
  return same;
}

Expr without_gradient(const Expr& x, std::string reason) {
  if (x.error() != nullptr) return x;
  Expr same = expr::apply(ops::identity_op, {x});
  if (same.error() == nullptr) same.node()->no_gradient = std::move(reason);
  return same;
}

std::vector<Expr> leaves(const std::vector<Expr>& outputs) {
  std::vector<Expr> found;
  for (const expr::Node* node : expr::reachable(outputs)) {
    const auto take = [&](const Expr& x) {
      if (!x.defined()) return;
      const expr::Kind kind = x.node()->kind;
      if (kind == expr::Kind::input || kind == expr::Kind::shared) found.push_back(x);
    };
    for (const Expr& x : outputs)
      if (x.node().get() == node) take(x);
    for (const Expr& x : node->inputs) take(x);
  }
  return in_order(std::move(found));
}

std::vector<Expr> origins(const std::vector<Expr>& outputs) {
  std::unordered_set<const expr::Node*> seen;
  std::vector<Expr> pending = outputs, found;
  while (!pending.empty()) {
    const Expr x = std::move(pending.back());
    pending.pop_back();
    if (!x.defined() || !seen.insert(x.node().get()).second) continue;
    const expr::Node& node = *x.node();
    if (node.kind == expr::Kind::input || node.kind == expr::Kind::shared) found.push_back(x);
    for (const auto* parts : {&node.inputs, &node.built_of})
      pending.insert(pending.end(), parts->begin(), parts->end());
  }
  return in_order(std::move(found));
}

std::vector<Expr> substitute(const std::vector<Expr>& outputs,
                             const std::vector<std::pair<Expr, Expr>>& replacements) {
  expr::Replacements map;
  for (const auto& [from, to] : replacements) {
    Expr fitting = expr::standing_for(from, to);
    if (fitting.error() != nullptr) return std::vector(outputs.size(), fitting);
    map.insert_or_assign(expr::key_of(from), std::move(fitting));
  }
  return expr::substituted(outputs, map);
}

}  // namespace scanloom
