#include "expr/loop_updates.h"

#include <algorithm>
#include <functional>
#include <set>

#include "expr/branch.h"
#include "expr/places.h"
#include "expr/shared.h"

namespace scanloom::expr {
namespace {

/// The result that a loop makes of its operand i where that is an update; undefined otherwise.
Expr update_of(const Node& node, std::size_t i) {
  if (!node.loop) return {};
  const ir::LoopPorts& ports = node.loop->ports;
  const std::size_t end = ports.first_carried_input() + ports.carried;
  if (i >= end || i + node.loop->updates < end) return {};
  return Expr(std::const_pointer_cast<Node>(node.shared_from_this()),
              static_cast<std::uint32_t>(i - ports.first_carried_input()));
}

/// Who reads a variable, or what a loop has made of it.
struct Readers {
  std::vector<Expr> last;  ///< by a loop, and not read by another one
  bool others = false;     ///< something else than loops that update it

  Readers(std::span<const Expr> outputs, const Expr& variable) {
    std::set<ExprKey> known{key_of(variable)}, read;
    others = std::ranges::find(outputs, variable) != outputs.end();
    std::vector<Expr> made;
    for (const Node* node : reachable(outputs)) {
      for (std::size_t i = 0; i < node->inputs.size(); ++i) {
        const Expr& x = node->inputs[i];
        if (!x.defined() || !known.contains(key_of(x))) continue;
        if (const Expr next = update_of(*node, i); next.defined()) {
          known.insert(key_of(next));
          read.insert(key_of(x));
          made.push_back(next);
        } else if (x == variable) {
          others = true;
        }
      }
    }
    for (const Expr& x : made)
      if (!read.contains(key_of(x))) last.push_back(x);
  }
};

/// A value that is computed at `place`, as a further result of each branch that this lies in.
Expr lifted(Expr x, Place place, const Expr& variable, const Places& places,
            const std::function<Expr(const Expr&)>& original) {
  for (; place != 0; place = places.around(place)) {
    const Node& branch = places.branch(place);
    const Expr first(std::const_pointer_cast<Node>(branch.shared_from_this()), 0);
    const bool then = Places::which(place) == 0;
    x = result_in(original(first).node(), then ? x : variable, then ? variable : x);
  }
  return x;
}

}  // namespace

bool only_loops_update(std::span<const Expr> outputs, const Expr& variable) {
  const Readers readers(outputs, variable);
  return !readers.others && !readers.last.empty();
}

Expr updated_by_loops(std::span<const Expr> outputs, const Expr& variable,
                      const Replacements& made_of) {
  const Readers readers(outputs, variable);
  const bool counts = variable.node()->shared->counts;
  if (readers.last.empty() || (readers.others && !counts)) return {};
  const auto original = [&](const Expr& x) {
    const auto found = made_of.find(key_of(x));
    return found == made_of.end() ? x : found->second;
  };
  const Places places(outputs);
  Expr made = readers.others ? default_update(variable) : Expr();
  for (const Expr& x : readers.last)
    for (const Place place : places.of(*x.node())) {
      const Expr value = lifted(original(x), place, variable, places, original);
      if (!made.defined())
        made = value;
      else if (counts)
        made = maximum(made, value);
    }
  return made;
}

}  // namespace scanloom::expr
