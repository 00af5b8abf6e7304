#include <scanloom/grad.h>

#include <map>
#include <set>

#include "expr/node.h"
#include "expr/substitute.h"
#include "ops/ops.h"

namespace scanloom {
namespace {

using expr::ExprKey;
using expr::Kind;
using expr::Node;

bool reads_no_elements(const Node& node) {
  return node.kind == Kind::op &&
         (node.op->reads_only_sizes() || node.op == &ops::constant_of_shape_op ||
          node.op == &ops::draw_op);
}

/// Whether the operand says where elements are, or how many there are.
bool is_index(const Node& node, std::size_t operand) {
  return operand > 0 && node.kind == Kind::op && node.op->access != ir::Access::pointwise &&
         is_integer(node.inputs[operand].dtype());
}

/// Walks back over what values read; enters bodies of loops one result at a time.
class Reading {
 public:
  /// Adds the values and everything that they read to `seen`, except what is there already.
  void read(std::vector<Expr> open, std::set<ExprKey>& seen) {
    while (!open.empty()) {
      const Expr at = open.back();
      open.pop_back();
      if (!at.defined() || !seen.insert(expr::key_of(at)).second) continue;
      const Node& node = *at.node();
      if (node.stops_gradient || reads_no_elements(node)) continue;
      if (node.loop) {
        for (const std::size_t operand : operands_of(at)) open.push_back(node.inputs[operand]);
        continue;
      }
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        if (!is_index(node, i)) open.push_back(node.inputs[i]);
    }
  }

 private:
  /// Returns the operands that a result of a loop reads. Computed once for each result; recursion
  /// depth is the nesting depth of loops.
  const std::vector<std::size_t>& operands_of(const Expr& result) {
    const auto [found, is_new] = operands_.try_emplace(expr::key_of(result));
    if (!is_new) return found->second;
    const Node& loop = *result.node();
    const ir::LoopPorts& ports = loop.loop->ports;
    std::set<ExprKey> seen;
    std::set<std::size_t> read_args;
    std::vector<Expr> open{loop.body.yields[ports.first_carried_yield() + result.output()]};
    if (result.output() < ports.carried) read_args.insert(ports.captured + result.output());
    while (!open.empty()) {
      read(std::move(open), seen);
      open.clear();
      for (std::size_t arg = 0; arg < loop.body.args.size(); ++arg) {
        if (!seen.contains(expr::key_of(loop.body.args[arg]))) continue;
        const bool is_state = arg >= ports.captured && arg < ports.captured + ports.carried;
        if (read_args.insert(arg).second && is_state)
          open.push_back(loop.body.yields[ports.first_carried_yield() + arg - ports.captured]);
      }
    }
    std::vector<std::size_t> operands;
    for (const std::size_t arg : read_args) operands.push_back(ports.first_captured_input() + arg);
    return operands_.at(expr::key_of(result)) = std::move(operands);
  }

  std::map<ExprKey, std::vector<std::size_t>> operands_;
};

}  // namespace

bool depends_on(const std::vector<Expr>& outputs, const Expr& x,
                const std::vector<Expr>& constants) {
  std::set<ExprKey> seen;
  for (const Expr& fixed : constants) seen.insert(expr::key_of(fixed));
  if (seen.contains(expr::key_of(x))) return false;
  Reading().read(outputs, seen);
  return seen.contains(expr::key_of(x));
}

}  // namespace scanloom
