#include "expr/branch.h"

#include "expr/types.h"

namespace scanloom {
namespace {

using expr::Kind;
using expr::Node;
using expr::StaticType;

std::vector<Expr> all_failed(std::size_t count, Error error) {
  return std::vector(count, expr::failed(std::move(error)));
}

}  // namespace

namespace expr {

std::vector<Expr> make_branch(const Expr& condition, const std::vector<Expr>& a,
                              const std::vector<Expr>& b) {
  if (Expr bad = unusable(condition); bad.defined()) return std::vector(a.size(), bad);
  if (condition.rank() != 0)
    return all_failed(a.size(), fail(Code::invalid_argument,
                                     "the condition, {}, has {} axes, but must be one element",
                                     describe(condition), condition.rank()));
  // The node is younger than what it reads, so its operands are made first.
  std::vector<Expr> inputs{cast(condition, DType::boolean)}, others;
  std::vector<StaticType> types;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::vector<Expr> sides = promoted({a[i], b[i]});
    if (const Expr* bad = first_failed(sides)) return std::vector(a.size(), *bad);
    if (sides[0].rank() != sides[1].rank())
      return all_failed(a.size(),
                        fail(Code::invalid_argument, "the regions of a branch have {} and {} axes",
                             sides[0].rank(), sides[1].rank()));
    types.push_back(joined(type_of(sides[0]), type_of(sides[1])));
    inputs.push_back(sides[0]);
    others.push_back(sides[1]);
  }
  auto node = std::make_shared<Node>(Kind::branch, std::move(types));
  node->op = &ir::branch_op;
  node->inputs = std::move(inputs);
  node->inputs.insert(node->inputs.end(), others.begin(), others.end());
  std::vector<Expr> results;
  for (std::uint32_t i = 0; i < node->outputs.size(); ++i) results.emplace_back(node, i);
  return results;
}

}  // namespace expr

Expr if_else(const Expr& condition, const Expr& a, const Expr& b) {
  return expr::make_branch(condition, {a}, {b}).front();
}

std::vector<Expr> if_else(const Expr& condition, const std::vector<Expr>& a,
                          const std::vector<Expr>& b) {
  if (a.size() != b.size())
    return all_failed(std::max(a.size(), b.size()),
                      fail(Code::invalid_argument, "the regions of a branch have {} and {} values",
                           a.size(), b.size()));
  return expr::make_branch(condition, a, b);
}

}  // namespace scanloom
