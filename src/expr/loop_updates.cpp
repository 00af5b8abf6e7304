#include "expr/loop_updates.h"

#include <algorithm>
#include <set>

#include "expr/apply.h"
#include "expr/branch.h"
#include "expr/shared.h"

namespace scanloom::expr {
namespace {

/// Returns the loop's result for its operand i if that is an update; undefined otherwise.
Expr update_of(const Node& node, std::size_t i) {
  if (!node.loop) return {};
  const ir::LoopPorts& ports = node.loop->ports;
  const std::size_t end = ports.first_carried_input() + ports.carried;
  if (i >= end || i + node.loop->updates < end) return {};
  return Expr(std::const_pointer_cast<Node>(node.shared_from_this()),
              static_cast<std::uint32_t>(i - ports.first_carried_input()));
}

/// The readers of a variable, or of its value after a loop.
struct Readers {
  std::vector<Expr> last;  ///< made by a loop, and not read by another one
  bool others = false;     ///< read by something other than loops that update it

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

// A branch whose regions update the variable gets its value as a further result. Except for random
// streams, another result says whether the chosen region has updated it: if not, the value from an
// older branch in the same region holds.
LoopUpdates::Updated LoopUpdates::updated_in(AssignedRegion region, const Gathered& all) {
  Updated made;
  const auto follow = [&](const Updated& next) {
    if (!made.value.defined()) {
      made = next;
    } else if (all.counts) {
      made.value = maximum(made.value, next.value);
    } else if (next.is_certain()) {
      made = next;
    } else {
      made.value = if_else(next.whether, next.value, made.value);
      made.whether = made.is_certain() ? Expr() : made.whether | next.whether;
    }
  };
  // Among loops that always run, one is enough.
  if (const auto here = all.loops.find(region); here != all.loops.end())
    for (const Expr& x : here->second)
      if (all.counts || !made.value.defined()) follow({x, {}});
  if (const auto here = all.branches.find(region); here != all.branches.end())
    for (const auto& [branch, then] : here->second) follow(result_of(branch, then, all));
  return made;
}

LoopUpdates::Updated LoopUpdates::result_of(const NodePtr& branch, AssignedRegion then,
                                            const Gathered& all) {
  const Updated sides[2] = {updated_in(then, all), updated_in(then + 1, all)};
  const auto certain = [](const Updated& branch_region) {
    return branch_region.value.defined() && branch_region.is_certain();
  };
  Further& further = further_[branch];
  const auto result = [&](const Expr& of_then, const Expr& of_else) {
    further.sides[0].push_back(of_then);
    further.sides[1].push_back(of_else);
    further.results.push_back(placeholder(type_of(of_then)));
    return further.results.back();
  };
  const auto value = [&](const Updated& branch_region) {
    return branch_region.value.defined() ? branch_region.value : all.variable;
  };
  Updated made{result(value(sides[0]), value(sides[1])), {}};
  if (all.counts || (certain(sides[0]) && certain(sides[1]))) return made;
  const auto whether = [&](const Updated& branch_region) {
    return branch_region.value.defined() && !branch_region.is_certain()
               ? branch_region.whether
               : cast(integer(branch_region.value.defined() ? 1 : 0), DType::boolean);
  };
  made.whether = result(whether(sides[0]), whether(sides[1]));
  return made;
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
  const RegionAssignment regions(outputs);
  Gathered all{.variable = variable, .counts = counts, .loops = {}, .branches = {}};
  for (const Expr& x : readers.last)
    for (AssignedRegion region : regions.of(*x.node())) {
      all.loops[region].push_back(original(x));
      for (; region != 0; region = regions.around(region)) {
        const Node& branch = regions.branch(region);
        const Expr first(std::const_pointer_cast<Node>(branch.shared_from_this()), 0);
        all.branches[regions.around(region)].emplace(
            original(first).node(), regions.branch_region(regions.around(region), branch, 0));
      }
    }
  const Expr made = updated_in(0, all).value;
  return readers.others ? maximum(default_update(variable), made) : made;
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
