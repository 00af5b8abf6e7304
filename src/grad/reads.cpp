#include "grad/reads.h"

#include <map>

#include "expr/substitute.h"
#include "expr/types.h"
#include "grad/rules.h"

namespace scanloom::autodiff {

using expr::ExprKey;
using expr::Kind;
using expr::Node;

namespace {

bool has_gradients(DType dtype) { return is_floating_point(dtype) || expr::is_complex(dtype); }

}  // namespace

bool lets_through(const Node& node, std::uint32_t output) {
  if (!has_gradients(node.outputs[output].dtype) || node.stops_gradient) return false;
  if (node.kind != Kind::op) return true;
  const RuleRow* row = find_rule(*node.op);
  return row == nullptr || !row->constant;
}

bool Reads::add_all(std::size_t result, const Reads& other, std::size_t row) {
  bool grown = false;
  for (std::size_t i = 0; i < words_; ++i) {
    std::uint64_t& own = bits_[result * words_ + i];
    const std::uint64_t both = own | other.bits_[row * words_ + i];
    grown |= both != own;
    own = both;
  }
  return grown;
}

namespace {

/// The arguments that the values of one body read.
class BodyReads {
 public:
  explicit BodyReads(const expr::Body& body) : args_(body.args.size()) {
    for (std::size_t i = 0; i < args_; ++i)
      if (has_gradients(body.args[i].dtype())) row(body.args[i]).add(0, i);
    for (const Node* node : expr::reachable(body.yields)) visit(*node);
  }

  [[nodiscard]] const Reads* find(const Expr& x) const {
    const auto found = rows_.find(expr::key_of(x));
    return found == rows_.end() ? nullptr : &found->second;
  }

 private:
  Reads& row(const Expr& x) { return rows_.try_emplace(expr::key_of(x), 1, args_).first->second; }

  void take(const Node& node, std::uint32_t output, const Expr& x) {
    const Reads* const read = x.defined() ? find(x) : nullptr;
    if (read != nullptr)
      rows_.try_emplace(ExprKey{&node, output}, 1, args_).first->second.add_all(0, *read, 0);
  }

  void visit(const Node& node) {
    if (node.inputs.empty()) return;
    const Reads inner = node.loop ? results_read(node) : Reads();
    for (std::uint32_t i = 0; i < node.outputs.size(); ++i) {
      if (node.loop) {
        const std::size_t first = node.loop->ports.first_captured_input();
        for (std::size_t arg = 0; arg < node.body.args.size(); ++arg)
          if (inner.contains(i, arg)) take(node, i, node.inputs[first + arg]);
      } else if (lets_through(node, i)) {
        if (node.kind == Kind::branch) {
          take(node, i, node.inputs[1 + i]);
          take(node, i, node.inputs[1 + node.outputs.size() + i]);
        } else {
          for (const Expr& x : node.inputs) take(node, i, x);
        }
      }
    }
  }

  std::size_t args_;
  std::map<ExprKey, Reads> rows_;
};

}  // namespace

// A state reads its initial value and, one step later, whatever the states that it reads do: a
// fixpoint over the states.
Reads results_read(const Node& loop) {
  const ir::LoopPorts& ports = loop.loop->ports;
  const expr::Body& body = loop.body;
  const BodyReads step(body);
  Reads results(loop.outputs.size(), body.args.size());
  for (std::uint32_t i = 0; i < loop.outputs.size(); ++i) {
    if (const Reads* read = step.find(body.yields[ports.first_carried_yield() + i]))
      results.add_all(i, *read, 0);
    if (i < ports.carried && has_gradients(body.args[ports.captured + i].dtype()))
      results.add(i, ports.captured + i);
  }
  for (bool grown = true; grown;) {
    grown = false;
    for (std::uint32_t i = 0; i < loop.outputs.size(); ++i)
      for (std::uint32_t state = 0; state < ports.carried; ++state)
        if (results.contains(i, ports.captured + state))
          grown |= results.add_all(i, results, state);
  }
  return results;
}

}  // namespace scanloom::autodiff
