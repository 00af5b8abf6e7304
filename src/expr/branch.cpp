// if_else: what both sides read is computed before the branch, what one side alone reads in it.
#include "expr/branch.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "expr/substitute.h"
#include "expr/types.h"

namespace scanloom {
namespace {

using expr::Node;

/// Where the computation of a side begins: what the other side reads as well, and leaves.
class Border {
 public:
  Border(const Expr& side, const Expr& other) {
    const auto both = expr::reachable(std::span(&other, 1));
    const std::unordered_set<const Node*> shared(both.begin(), both.end());
    const auto is_outside = [&](const Expr& x) {
      return x.node()->inputs.empty() || shared.contains(x.node().get());
    };
    std::unordered_set<const Node*> seen;
    std::vector<Expr> open{side};
    while (!open.empty()) {
      const Expr x = open.back();
      open.pop_back();
      if (!x.defined() || x.node()->kind == expr::Kind::constant) continue;
      if (is_outside(x)) {
        if (taken_.insert(expr::key_of(x)).second) values_.push_back(x);
      } else if (seen.insert(x.node().get()).second) {
        open.insert(open.end(), x.node()->inputs.begin(), x.node()->inputs.end());
      }
    }
  }
  [[nodiscard]] const std::vector<Expr>& values() const { return values_; }

 private:
  std::set<expr::ExprKey> taken_;
  std::vector<Expr> values_;
};

}  // namespace

namespace expr {

std::vector<Expr> make_branch(const Expr& condition, std::vector<Expr> captured,
                              std::vector<Body> sides) {
  std::vector<StaticType> types;
  for (std::size_t i = 0; i < sides[0].yields.size(); ++i) {
    const Expr &a = sides[0].yields[i], &b = sides[1].yields[i];
    if (const Expr* bad = first_failed(std::vector{a, b}))
      return std::vector(sides[0].yields.size(), *bad);
    types.push_back(type_of(a));
    for (std::size_t axis = 0; axis < types[i].sizes.size(); ++axis)
      if (types[i].sizes[axis] != b.sizes()[axis]) types[i].sizes[axis] = -1;
  }
  const Expr holds = cast(condition, DType::boolean);  // older than what reads it
  auto node = std::make_shared<Node>(Kind::branch, std::move(types));
  node->op = &ir::branch_op;
  node->inputs = {holds};
  node->inputs.insert(node->inputs.end(), captured.begin(), captured.end());
  node->bodies = std::move(sides);
  std::vector<Expr> results;
  for (std::uint32_t i = 0; i < node->outputs.size(); ++i) results.emplace_back(node, i);
  return results;
}

}  // namespace expr

Expr if_else(const Expr& condition, const Expr& a, const Expr& b) {
  const std::vector<Expr> sides = expr::promoted({a, b});
  if (const Expr* bad = expr::first_failed(std::vector{condition, sides[0], sides[1]})) return *bad;
  if (condition.rank() != 0)
    return expr::failed(fail(Code::invalid_argument,
                             "the condition {} has {} axes; it is one "
                             "element",
                             expr::describe(condition), condition.rank()));
  if (sides[0].rank() != sides[1].rank())
    return expr::failed(fail(Code::invalid_argument, "the sides of a branch have {} and {} axes",
                             sides[0].rank(), sides[1].rank()));
  std::vector<Expr> captured = Border(sides[0], sides[1]).values();
  const Border of_other(sides[1], sides[0]);
  for (const Expr& x : of_other.values())
    if (std::ranges::find(captured, x) == captured.end()) captured.push_back(x);
  std::vector<expr::Body> bodies;
  for (const Expr& side : sides) {
    expr::Body body;
    expr::Replacements inside;
    for (const Expr& x : captured) {
      body.args.push_back(expr::placeholder(expr::type_of(x), x.name()));
      inside.emplace(expr::key_of(x), body.args.back());
    }
    body.yields = expr::substituted({side}, inside);
    bodies.push_back(std::move(body));
  }
  return expr::make_branch(condition, std::move(captured), std::move(bodies)).front();
}

}  // namespace scanloom
