#include "grad/reverse.h"

#include <algorithm>
#include <map>

#include "expr/branch.h"
#include "expr/places.h"
#include "grad/rules.h"

namespace scanloom::autodiff {

using expr::ExprKey;
using expr::Kind;
using expr::Node;

Activity::Activity(std::span<const Expr> outputs, std::span<const Expr> wrt,
                   std::span<const Expr> constants)
    : nodes_(expr::reachable(outputs)) {
  std::set<ExprKey> fixed;
  for (const Expr& x : constants) fixed.insert(expr::key_of(x));
  for (const Expr& x : wrt) active_.insert(expr::key_of(x));
  for (const Node* node : nodes_)
    for (std::uint32_t i = 0; i < node->outputs.size(); ++i)
      if (!fixed.contains({node, i}) && passes(*node, i)) active_.insert({node, i});
  for (const ExprKey& key : fixed) active_.erase(key);
}

bool Activity::passes(const Node& node, std::uint32_t output) const {
  if (!is_real(node.outputs[output].dtype) || node.stops_gradient) return false;
  if (node.kind == Kind::op)
    if (const RuleRow* row = find_rule(*node.op); row != nullptr && row->constant) return false;
  if (node.kind == Kind::branch)
    return contains(node.inputs[1 + output]) ||
           contains(node.inputs[1 + node.outputs.size() + output]);
  return std::ranges::any_of(node.inputs, [&](const Expr& x) { return contains(x); });
}

namespace {

Expected<Rule> rule_of(const Node& node) {
  if (node.no_gradient)
    return fail(Code::unsupported, "the gradient passes through a value that has none: {}",
                *node.no_gradient);
  if (node.kind == Kind::loop) return &pull_loop;
  const RuleRow* row = find_rule(*node.op);
  if (row != nullptr && row->rule != nullptr) return row->rule;
  Error none =
      fail(Code::unsupported, "the gradient passes through '{}', which has none{}{}", node.op->name,
           row != nullptr && !row->reason.empty() ? ": " : "", row != nullptr ? row->reason : "");
  return node.place.empty() ? none : std::move(none).at(node.place);
}

/// Sums of cotangents by value, in the order in which their values were met.
class Cotangents {
 public:
  void add(const Expr& x, const Expr& cotangent) {
    if (!cotangent.defined()) return;
    const auto [at, is_new] = place_.try_emplace(expr::key_of(x), sums_.size());
    if (is_new)
      sums_.emplace_back(x, cotangent);
    else
      sums_[at->second].second = added(sums_[at->second].second, cotangent);
  }
  [[nodiscard]] Expr of(const Expr& x) const {
    const auto found = place_.find(expr::key_of(x));
    return found == place_.end() ? Expr() : sums_[found->second].second;
  }
  [[nodiscard]] const std::vector<std::pair<Expr, Expr>>& all() const { return sums_; }

 private:
  std::map<ExprKey, std::size_t> place_;
  std::vector<std::pair<Expr, Expr>> sums_;
};

/// Walks back through a graph, and through the sides of its branches apart: the gradient of a
/// branch is a branch, so that the side that was not taken cannot spoil it with 0 times infinity.
class Reverse {
 public:
  Reverse(std::span<const Expr> outputs, std::span<const Expr> wrt, std::span<const Expr> constants,
          std::span<const Expr> known)
      : activity_(outputs, wrt, constants), places_(outputs) {
    for (const Expr& x : wrt) wrt_.insert(expr::key_of(x));
    for (const Expr& x : known) known_.insert(expr::key_of(x));
  }

  Expected<std::vector<Expr>> run(std::span<const Expr> outputs, std::span<const Expr> cotangents,
                                  std::span<const Expr> wrt) {
    Side all;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (activity_.contains(outputs[i])) all.sums.add(outputs[i], cotangents[i]);
    SCANLOOM_CHECK_OK(walk(all));
    std::vector<Expr> results;
    for (const Expr& x : wrt) results.push_back(all.outside.of(x));
    return results;
  }

 private:
  /// The cotangents of what is computed at one place, and of what it has from elsewhere or is asked
  /// for.
  struct Side {
    expr::Place place = 0;
    Cotangents sums, outside = {};
  };

  void add(Side& side, const Expr& x, const Expr& cotangent) const {
    const bool here = places_.is_at(*x.node(), side.place);
    (here ? side.sums : side.outside).add(x, cotangent);
  }

  Expected<void> walk(Side& side) {
    const std::vector<const Node*>& nodes = places_.nodes(side.place);
    for (auto at = nodes.rbegin(); at != nodes.rend(); ++at) {
      const expr::NodePtr node = const_cast<Node*>(*at)->shared_from_this();
      SCANLOOM_CHECK_OK(pull(side, node));
      for (std::uint32_t i = 0; i < node->outputs.size(); ++i) {
        const Expr x(node, i);
        if (wrt_.contains(expr::key_of(x))) side.outside.add(x, side.sums.of(x));
      }
    }
    return {};
  }

  Expected<void> pull(Side& side, const expr::NodePtr& node) {
    Pull pull{.node = node, .cotangents = {}, .wanted = {}, .result = {}};
    bool any = false;
    for (std::uint32_t i = 0; i < node->outputs.size(); ++i) {
      const Expr x(node, i);
      pull.cotangents.push_back(activity_.contains(x) ? side.sums.of(x) : Expr());
      any |= pull.cotangents.back().defined();
    }
    for (const Expr& x : node->inputs) pull.wanted.push_back(activity_.contains(x));
    if (!any || std::ranges::find(pull.wanted, true) == pull.wanted.end()) return {};
    if (node->kind == Kind::branch) return pull_branch(side, pull);
    if (node->gradient_limits)
      pull.cotangents[0] =
          clip(pull.cotangents[0], node->gradient_limits->first, node->gradient_limits->second);
    if (node->gradient_factor)
      pull.cotangents[0] =
          pull.cotangents[0] * number(*node->gradient_factor, node->outputs[0].dtype);
    pull.result.resize(node->inputs.size());
    SCANLOOM_TRY(const Rule rule, rule_of(*node));
    rule(pull);
    for (std::size_t i = 0; i < pull.result.size(); ++i) {
      if (!pull.wanted[i] || !pull.result[i].defined()) continue;
      if (const Error* error = pull.result[i].error()) return *error;
      if (!known_.contains(expr::key_of(node->inputs[i])))
        add(side, node->inputs[i], pull.result[i]);
    }
    return {};
  }

  Expected<void> pull_branch(Side& around, const Pull& pull) {
    Side sides[2];
    const std::size_t results = pull.cotangents.size();
    for (std::size_t which = 0; which < 2; ++which) {
      Side& side = sides[which];
      side.place = places_.side(around.place, *pull.node, which);
      for (std::size_t i = 0; i < results; ++i) {
        const std::size_t operand = 1 + which * results + i;
        if (pull.wanted[operand] && !known_.contains(expr::key_of(pull.in(operand))))
          add(side, pull.in(operand), pull.cotangents[i]);
      }
      if (side.place == around.place)
        std::swap(side.sums, side.outside);  // too deep: all is around
      else
        SCANLOOM_CHECK_OK(walk(side));
    }
    std::vector<Expr> wanted, values[2];
    std::set<ExprKey> seen;
    for (const Side& side : sides)
      for (const auto& [x, cotangent] : side.outside.all())
        if (seen.insert(expr::key_of(x)).second) wanted.push_back(x);
    if (wanted.empty()) return {};
    for (const Expr& x : wanted)
      for (std::size_t which = 0; which < 2; ++which) {
        const Expr cotangent = sides[which].outside.of(x);
        values[which].push_back(cotangent.defined() ? cotangent : zeros_like(x));
      }
    const std::vector<Expr> made = expr::make_branch(pull.in(0), values[0], values[1]);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (const Error* error = made[i].error()) return *error;
      made[i].node()->outputs[i].sizes = expr::type_of(wanted[i]).sizes;
      add(around, wanted[i], made[i]);
    }
    return {};
  }

  Activity activity_;
  expr::Places places_;
  std::set<ExprKey> wrt_, known_;
};

}  // namespace

Expected<std::vector<Expr>> pulled_back(std::span<const Expr> outputs,
                                        std::span<const Expr> cotangents, std::span<const Expr> wrt,
                                        std::span<const Expr> constants,
                                        std::span<const Expr> known) {
  return Reverse(outputs, wrt, constants, known).run(outputs, cotangents, wrt);
}

}  // namespace scanloom::autodiff
