#include "grad/reverse.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "expr/branch.h"
#include "expr/harmless.h"
#include "expr/region_assignment.h"
#include "grad/rules.h"

namespace scanloom::autodiff {

using expr::ExprKey;
using expr::Kind;
using expr::Node;

Activity::Activity(std::span<const Expr> outputs, std::span<const Expr> wrt,
                   std::span<const Expr> constants)
    : Activity(expr::reachable(outputs), wrt, constants) {}

Activity::Activity(std::vector<const Node*> nodes, std::span<const Expr> wrt,
                   std::span<const Expr> constants)
    : nodes_(std::move(nodes)) {
  std::set<ExprKey> fixed;
  for (const Expr& x : constants) fixed.insert(expr::key_of(x));
  for (const Expr& x : wrt) active_.insert(expr::key_of(x));
  for (const Node* node : nodes_) {
    const Reads reads = node->loop ? results_read(*node) : Reads();
    for (std::uint32_t i = 0; i < node->outputs.size(); ++i)
      if (!fixed.contains({node, i}) && passes(*node, i, reads)) active_.insert({node, i});
  }
  for (const ExprKey& key : fixed) active_.erase(key);
}

bool Activity::passes(const Node& node, std::uint32_t output, const Reads& reads) const {
  if (node.loop) {
    const std::size_t first = node.loop->ports.first_captured_input();
    for (std::size_t arg = 0; arg < node.body.args.size(); ++arg)
      if (reads.contains(output, arg) && contains(node.inputs[first + arg])) return true;
    return false;
  }
  if (!lets_through(node, output)) return false;
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
  return node.location.empty() ? none : std::move(none).at(node.location);
}

/// Sums of cotangents by value, in the order in which the values were reached.
class Cotangents {
 public:
  void add(const Expr& x, const Expr& cotangent) {
    if (!cotangent.defined()) return;
    const auto [at, is_new] = position_.try_emplace(expr::key_of(x), sums_.size());
    if (is_new)
      sums_.emplace_back(x, cotangent);
    else
      sums_[at->second].second = added(sums_[at->second].second, cotangent);
  }
  [[nodiscard]] Expr of(const Expr& x) const {
    const auto found = position_.find(expr::key_of(x));
    return found == position_.end() ? Expr() : sums_[found->second].second;
  }
  [[nodiscard]] const std::vector<std::pair<Expr, Expr>>& all() const { return sums_; }

 private:
  std::map<ExprKey, std::size_t> position_;
  std::vector<std::pair<Expr, Expr>> sums_;
};

/// Returns the Pull of a node with the cotangents known so far.
Pull pull_of(const expr::NodePtr& node, const Activity& activity, const Cotangents& sums) {
  Pull pull{.node = node, .cotangents = {}, .wanted = {}, .result = {}};
  for (std::uint32_t i = 0; i < node->outputs.size(); ++i) {
    const Expr x(node, i);
    pull.cotangents.push_back(activity.contains(x) ? sums.of(x) : Expr());
  }
  for (const Expr& x : node->inputs) pull.wanted.push_back(activity.contains(x));
  return pull;
}

bool is_needed(const Pull& pull) {
  return std::ranges::any_of(pull.cotangents, &Expr::defined) &&
         std::ranges::find(pull.wanted, true) != pull.wanted.end();
}

using Give = std::function<void(const Expr& x, const Expr& cotangent)>;

Expected<void> pull_stable_form(const Node& node, const Expr& cotangent, const Activity& around,
                                const Give& give);

/// Gives the cotangents of the values that a node reads. `told`: values that are asked for or that
/// the caller has fixed.
Expected<void> pull_node(Pull& pull, const Activity& activity, const std::set<ExprKey>& told,
                         const Give& give) {
  const Node& node = *pull.node;
  if (node.gradient_limits)
    pull.cotangents[0] =
        clip(pull.cotangents[0], node.gradient_limits->first, node.gradient_limits->second);
  if (node.gradient_factor)
    pull.cotangents[0] = pull.cotangents[0] * number(*node.gradient_factor, node.outputs[0].dtype);
  const auto is_parameter = [&](const Expr& x) { return told.contains(expr::key_of(x)); };
  if (node.stable != nullptr && std::ranges::none_of(node.stable->passed, is_parameter))
    return pull_stable_form(node, pull.cotangents[0], activity, give);
  pull.result.resize(node.inputs.size());
  SCANLOOM_TRY(const Rule rule, rule_of(node));
  rule(pull);
  for (std::size_t i = 0; i < pull.result.size(); ++i) {
    if (!pull.wanted[i] || !pull.result[i].defined()) continue;
    if (const Error* error = pull.result[i].error())
      return node.kind == Kind::op && !node.location.empty() ? Error(*error).at(node.location)
                                                             : *error;
    give(node.inputs[i], pull.result[i]);
  }
  return {};
}

/// Returns the nodes of a stable form of `node`: they are younger than what both read.
std::vector<const Node*> nodes_of_form(const Node& node) {
  std::uint64_t limit = 0;
  for (const Expr& x : node.inputs) limit = std::max(limit, x.node()->id);
  std::vector<const Node*> nodes;
  const auto visit = [&](const Expr& x) {
    if (!x.defined() || x.node()->id <= limit) return;
    if (std::ranges::find(nodes, x.node().get()) == nodes.end()) nodes.push_back(x.node().get());
  };
  visit(node.stable->value);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const Expr& x : nodes[i]->inputs) visit(x);
  std::ranges::sort(nodes, {}, [](const Node* each) { return each->id; });
  return nodes;
}

/// Skips the nodes between a node and the arguments of its stable form, where the products of the
/// rules would be 0 times infinity.
Expected<void> pull_stable_form(const Node& node, const Expr& cotangent, const Activity& around,
                                const Give& give) {
  const expr::StableForm& form = *node.stable;
  std::vector<Expr> arguments;
  for (const Expr& x : form.arguments)
    if (around.contains(x) && std::ranges::find(arguments, x) == arguments.end())
      arguments.push_back(x);
  const Activity inner(nodes_of_form(node), arguments, {});
  Cotangents sums;
  sums.add(form.value, cotangent);
  const Give add = [&](const Expr& x, const Expr& part) { sums.add(x, part); };
  for (auto at = inner.nodes().rbegin(); at != inner.nodes().rend(); ++at) {
    const expr::NodePtr each = const_cast<Node*>(*at)->shared_from_this();
    Pull pull = pull_of(each, inner, sums);
    if (is_needed(pull)) SCANLOOM_CHECK_OK(pull_node(pull, inner, {}, add));
  }
  for (const Expr& x : arguments) give(x, sums.of(x));
  return {};
}

/// Walks back through a graph, and separately through the regions of its branches: the gradient of
/// a branch is a branch, so that the region not taken cannot spoil it with 0 times infinity.
class Reverse {
 public:
  Reverse(std::span<const Expr> outputs, std::span<const Expr> wrt, std::span<const Expr> constants,
          std::span<const Expr> known)
      : activity_(outputs, wrt, constants),
        regions_(outputs),
        constants_(constants.begin(), constants.end()),
        harmless_(activity_.nodes()) {
    for (const Expr& x : wrt) wrt_.insert(expr::key_of(x));
    for (const Expr& x : known) known_.insert(expr::key_of(x));
    told_ = wrt_;
    told_.insert(known_.begin(), known_.end());
    for (const Expr& x : constants) told_.insert(expr::key_of(x));
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
  /// The cotangents of values computed in one region, and of values that are from elsewhere or
  /// asked for.
  struct Side {
    expr::AssignedRegion region = 0;
    Cotangents sums, outside = {};
  };

  void add(Side& side, const Expr& x, const Expr& cotangent) const {
    const bool here = regions_.is_at(*x.node(), side.region);
    (here ? side.sums : side.outside).add(x, cotangent);
  }

  Expected<void> walk(Side& side) {
    const std::vector<const Node*>& nodes = regions_.nodes(side.region);
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
    Pull pull = pull_of(node, activity_, side.sums);
    if (!is_needed(pull)) return {};
    if (node->kind == Kind::branch) return pull_branch(side, pull);
    const std::vector<Expr> lazy = node->loop ? read_by_regions_alone(*node) : std::vector<Expr>();
    std::vector<std::pair<Expr, Expr>> later;
    SCANLOOM_CHECK_OK(pull_node(pull, activity_, told_, [&](const Expr& x, const Expr& cotangent) {
      if (known_.contains(expr::key_of(x))) return;
      if (std::ranges::find(lazy, x) == lazy.end()) return add(side, x, cotangent);
      later.emplace_back(x, cotangent);
    }));
    for (const auto& [x, cotangent] : later) SCANLOOM_CHECK_OK(give_lazily(side, x, cotangent));
    return {};
  }

  /// Returns captured operands of a loop that may fail and that only branch regions in its body
  /// read (expr/lazy_loops.h).
  [[nodiscard]] std::vector<Expr> read_by_regions_alone(const Node& loop) const {
    std::vector<Expr> found;
    std::optional<expr::RegionAssignment> inner;
    for (std::size_t i = 0; i < loop.loop->ports.captured; ++i) {
      const Expr& x = loop.inputs[loop.loop->ports.first_captured_input() + i];
      if (harmless_.contains(*x.node()) || told_.contains(expr::key_of(x))) continue;
      if (!inner) inner.emplace(loop.body.yields);
      if (!inner->is_always(*loop.body.args[i].node())) found.push_back(x);
    }
    return found;
  }

  /// Computes the cotangents of operators that may fail, and of what is computed from them, inside
  /// a branch: if no step has read x its cotangent is zero, and an index that is outside is no
  /// error.
  Expected<void> give_lazily(Side& side, const Expr& x, const Expr& cotangent) {
    constexpr std::size_t kMax = 64;  // limits how much is computed twice
    std::vector<Expr> passed{x}, ends;
    const auto meet = [](std::vector<Expr>& list, const Expr& each) {
      if (std::ranges::find(list, each) == list.end()) list.push_back(each);
    };
    for (std::size_t i = 0; i < passed.size(); ++i) {
      const Node& node = *passed[i].node();
      if (node.kind != Kind::op || passed.size() > kMax) {
        add(side, x, cotangent);
        return {};
      }
      for (const Expr& from : node.inputs) {
        if (!activity_.contains(from)) continue;
        const bool ends_here = from.node()->kind != Kind::op || harmless_.contains(*from.node()) ||
                               told_.contains(expr::key_of(from));
        meet(ends_here ? ends : passed, from);
      }
    }
    SCANLOOM_TRY(const std::vector<Expr> parts,
                 pulled_back({{x}}, {{cotangent}}, ends, constants_));
    std::vector<Expr> wanted, then, otherwise;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (!parts[i].defined() || known_.contains(expr::key_of(ends[i]))) continue;
      wanted.push_back(ends[i]);
      then.push_back(parts[i]);
      otherwise.push_back(zeros_like(ends[i]));
    }
    const Expr is_read = any(not_equal(cotangent, number(0, cotangent.dtype())));
    const std::vector<Expr> made = expr::make_branch(is_read, then, otherwise);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (const Error* error = made[i].error()) return *error;
      made[i].node()->outputs[i].sizes = expr::type_of(wanted[i]).sizes;
      add(side, wanted[i], made[i]);
    }
    return {};
  }

  Expected<void> pull_branch(Side& around, const Pull& pull) {
    Side sides[2];
    const std::size_t results = pull.cotangents.size();
    for (std::size_t which = 0; which < 2; ++which) {
      Side& side = sides[which];
      side.region = regions_.branch_region(around.region, *pull.node, which);
      for (std::size_t i = 0; i < results; ++i) {
        const std::size_t operand = 1 + which * results + i;
        if (pull.wanted[operand] && !known_.contains(expr::key_of(pull.in(operand))))
          add(side, pull.in(operand), pull.cotangents[i]);
      }
      if (side.region == around.region)
        std::swap(side.sums, side.outside);  // nested too deep: computed outside the regions
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
  expr::RegionAssignment regions_;
  std::vector<Expr> constants_;
  expr::Harmless harmless_;
  std::set<ExprKey> wrt_, known_, told_;
};

}  // namespace

Expected<std::vector<Expr>> pulled_back(std::span<const Expr> outputs,
                                        std::span<const Expr> cotangents, std::span<const Expr> wrt,
                                        std::span<const Expr> constants,
                                        std::span<const Expr> known) {
  return Reverse(outputs, wrt, constants, known).run(outputs, cotangents, wrt);
}

}  // namespace scanloom::autodiff
