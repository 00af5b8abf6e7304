#include "grad/reverse.h"

#include <algorithm>
#include <map>

#include "expr/shared.h"
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
  return std::ranges::any_of(node.inputs, [&](const Expr& x) { return contains(x); });
}

namespace {

/// Sums of cotangents by value.
class Cotangents {
 public:
  void add(const Expr& x, const Expr& cotangent) {
    if (!cotangent.defined()) return;
    auto [at, is_new] = sums_.try_emplace(expr::key_of(x), cotangent);
    if (!is_new) at->second = at->second + cotangent;
  }
  [[nodiscard]] Expr of(const Node* node, std::uint32_t output) const {
    const auto found = sums_.find({node, output});
    return found == sums_.end() ? Expr() : found->second;
  }

 private:
  std::map<ExprKey, Expr> sums_;
};

Expected<Rule> rule_of(const Node& node) {
  if (node.kind == Kind::loop) return &pull_loop;
  if (node.kind == Kind::branch) return &pull_branch;
  const RuleRow* row = find_rule(*node.op);
  if (row != nullptr && row->rule != nullptr) return row->rule;
  return fail(Code::unsupported, "the gradient passes through '{}', which has none{}{}",
              node.op->name, row != nullptr && !row->reason.empty() ? ": " : "",
              row != nullptr ? row->reason : "");
}

}  // namespace

Expected<std::vector<Expr>> pulled_back(std::span<const Expr> outputs,
                                        std::span<const Expr> cotangents, std::span<const Expr> wrt,
                                        std::span<const Expr> constants,
                                        std::span<const Expr> known) {
  const Activity activity(outputs, wrt, constants);
  Cotangents sums;
  const auto is_known = [&](const Expr& x) { return std::ranges::find(known, x) != known.end(); };
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (activity.contains(outputs[i])) sums.add(outputs[i], cotangents[i]);
  const std::vector<const Node*>& nodes = activity.nodes();
  for (auto at = nodes.rbegin(); at != nodes.rend(); ++at) {
    // What is differentiated by is a leaf, but for what it depends on being asked for, too.
    const expr::NodePtr node = const_cast<Node*>(*at)->shared_from_this();
    if (node->inputs.empty()) continue;
    Pull pull{.node = node, .cotangents = {}, .wanted = {}, .result = {}};
    bool any = false;
    for (std::uint32_t i = 0; i < node->outputs.size(); ++i) {
      const bool active = activity.contains(Expr(node, i));
      pull.cotangents.push_back(active ? sums.of(node.get(), i) : Expr());
      any |= pull.cotangents.back().defined();
    }
    for (const Expr& x : node->inputs) pull.wanted.push_back(activity.contains(x));
    if (node->gradient_limits && pull.cotangents[0].defined())
      pull.cotangents[0] =
          clip(pull.cotangents[0], node->gradient_limits->first, node->gradient_limits->second);
    if (!any || std::ranges::find(pull.wanted, true) == pull.wanted.end()) continue;
    pull.result.resize(node->inputs.size());
    SCANLOOM_TRY(const Rule rule, rule_of(*node));
    rule(pull);
    for (std::size_t i = 0; i < pull.result.size(); ++i) {
      if (!pull.wanted[i] || !pull.result[i].defined() || is_known(node->inputs[i])) continue;
      if (const Error* error = pull.result[i].error()) return *error;
      sums.add(node->inputs[i], pull.result[i]);
    }
  }
  std::vector<Expr> results;
  for (const Expr& x : wrt) results.push_back(sums.of(x.node().get(), x.output()));
  return results;
}

}  // namespace scanloom::autodiff
