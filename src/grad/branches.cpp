// The gradient of a branch is a branch: the side that ran is differentiated, so that the other one
// cannot spoil it with 0 times infinity.
#include "expr/branch.h"
#include "expr/substitute.h"
#include "grad/reverse.h"
#include "grad/rules.h"

namespace scanloom::autodiff {
namespace {

using expr::Body;

/// One side: cotangents of the captured values that are wanted, computed over copies of them and of
/// the results' cotangents.
Expected<Body> reversed(const Pull& pull, const Body& side) {
  Body reverse;
  expr::Replacements inside;
  for (const Expr& arg : side.args) {
    reverse.args.push_back(expr::placeholder(expr::type_of(arg), arg.name()));
    inside.emplace(expr::key_of(arg), reverse.args.back());
  }
  std::vector<Expr> yields, cotangents, wrt;
  for (std::size_t i = 0; i < pull.cotangents.size(); ++i) {
    if (!pull.cotangents[i].defined()) continue;
    yields.push_back(side.yields[i]);
    cotangents.push_back(expr::placeholder(expr::type_of(pull.cotangents[i])));
    reverse.args.push_back(cotangents.back());
  }
  for (std::size_t i = 0; i < side.args.size(); ++i)
    if (pull.wanted[i + 1]) wrt.push_back(side.args[i]);
  SCANLOOM_TRY(std::vector<Expr> pulled, pulled_back(yields, cotangents, wrt));
  for (std::size_t i = 0; i < wrt.size(); ++i)
    if (!pulled[i].defined()) pulled[i] = zeros_like(wrt[i]);
  reverse.yields = expr::substituted(pulled, inside);
  return reverse;
}

}  // namespace

void pull_branch(Pull& pull) {
  const expr::Node& node = *pull.node;
  std::vector<Expr> captured(node.inputs.begin() + 1, node.inputs.end());
  for (const Expr& g : pull.cotangents)
    if (g.defined()) captured.push_back(g);
  std::vector<Body> sides;
  for (const Body& side : node.bodies) {
    auto reverse = reversed(pull, side);
    if (!reverse) {
      for (Expr& x : pull.result) x = expr::failed(Error(reverse.error()));
      return;
    }
    sides.push_back(*std::move(reverse));
  }
  const std::vector<Expr> made = expr::make_branch(node.inputs[0], captured, std::move(sides));
  std::size_t at = 0;
  for (std::size_t i = 1; i < node.inputs.size(); ++i)
    if (pull.wanted[i]) pull.result[i] = made[at++];
}

}  // namespace scanloom::autodiff
