#include "expr/loop_updates.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "expr/branch.h"
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

}  // namespace

bool only_loops_update(std::span<const Expr> outputs, const Expr& variable) {
  const Readers readers(outputs, variable);
  return !readers.others && !readers.last.empty();
}

/// As a further result of each branch that `place` lies in. `otherwise` is what it is where the
/// outermost of them takes the other side.
Expr LoopUpdates::lifted(Expr x, Place place, const Expr& variable, const Expr& otherwise,
                         const Places& places,
                         const std::function<NodePtr(const Node&)>& original) {
  for (; place != 0; place = places.around(place)) {
    Further& further = further_[original(places.branch(place))];
    const std::size_t side = Places::which(place);
    further.sides[side].push_back(x);
    further.sides[1 - side].push_back(places.around(place) == 0 ? otherwise : variable);
    further.results.push_back(placeholder(type_of(variable)));
    x = further.results.back();
  }
  return x;
}

Expr LoopUpdates::after(std::span<const Expr> outputs, const Expr& variable,
                        const Replacements& made_of) {
  const Readers readers(outputs, variable);
  const bool counts = variable.node()->shared->counts;
  if (readers.last.empty() || (readers.others && !counts)) return {};
  const auto original = [&](const Expr& x) {
    const auto found = made_of.find(key_of(x));
    return found == made_of.end() ? x : found->second;
  };
  const auto original_node = [&](const Node& node) {
    return original(Expr(std::const_pointer_cast<Node>(node.shared_from_this()), 0)).node();
  };
  const Places places(outputs);
  // By the outermost branches, oldest first: one may read what an older one has made.
  std::vector<std::tuple<std::uint64_t, Expr, Place>> found;
  for (const Expr& x : readers.last)
    for (const Place place : places.of(*x.node())) {
      std::uint64_t outermost = 0;
      for (Place at = place; at != 0; at = places.around(at)) outermost = places.branch(at).id;
      found.emplace_back(outermost, x, place);
    }
  std::ranges::stable_sort(found, {}, [](const auto& each) { return std::get<0>(each); });
  Expr made = readers.others ? default_update(variable) : Expr();
  for (const auto& [outermost, x, place] : found) {
    const bool follows = made.defined() && !counts;
    if (follows && place == 0) continue;  // another loop that always runs has said it
    const Expr value =
        lifted(original(x), place, variable, follows ? made : variable, places, original_node);
    made = made.defined() && counts ? maximum(made, value) : value;
  }
  return made;
}

std::vector<Expr> LoopUpdates::settled(const std::vector<Expr>& xs, Replacements kept) const {
  if (further_.empty()) return xs;
  Replacements replaced = std::move(kept);
  for (const auto& [branch, further] : further_) {
    const std::size_t results = branch->outputs.size();
    std::vector<Expr> sides[2];
    for (std::size_t which = 0; which < 2; ++which) {
      const auto first = branch->inputs.begin() + 1 + static_cast<std::ptrdiff_t>(which * results);
      sides[which].assign(first, first + static_cast<std::ptrdiff_t>(results));
      sides[which].insert(sides[which].end(), further.sides[which].begin(),
                          further.sides[which].end());
      sides[which] = substituted(sides[which], replaced);
    }
    const Expr condition = substituted({branch->inputs[0]}, replaced).front();
    const std::vector<Expr> made = make_branch(condition, sides[0], sides[1]);
    for (std::uint32_t i = 0; i < made.size(); ++i)
      replaced.insert_or_assign(
          i < results ? ExprKey{branch.get(), i} : key_of(further.results[i - results]), made[i]);
  }
  return substituted(xs, replaced);
}

}  // namespace scanloom::expr
