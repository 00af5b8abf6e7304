#include "expr/places.h"

#include <algorithm>
#include <utility>

namespace scanloom::expr {
namespace {

/// So that a chain of branches that share what they read does not double with each of them.
constexpr std::size_t kMostCopies = 4;
constexpr int kDeepest = 200;  // of branches in each other

/// Sides are made in pairs, behind place 0.
Place other_side(Place place) { return place % 2 == 1 ? place + 1 : place - 1; }

}  // namespace

Places::Places(std::span<const Expr> outputs, const std::function<bool(const Node&)>& takes)
    : places_(1) {
  const auto is_taken = [&](const Node& node) {
    return takes && takes(node) && stable_.insert(&node).second;
  };
  const std::vector<const Node*> nodes = reachable(outputs, is_taken);
  for (const Expr& x : outputs) use(x, 0);
  // What reads a node is younger: all its uses are known when its turn comes.
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    const std::vector<Place>& at = places_of_.at(*node);
    for (const Place place : at) places_[place].nodes.push_back(*node);
    for (const Place place : std::vector(at)) use_operands(**node, place);
  }
  for (Row& row : places_) std::ranges::reverse(row.nodes);
}

void Places::use_operands(const Node& node, Place place) {
  if (takes_stable_form(node)) return use(node.stable->value, place);
  if (node.kind != Kind::branch || places_[place].depth == kDeepest) {
    for (const Expr& x : node.inputs) use(x, place);
    return;
  }
  const Place then = places_.size();
  places_.resize(then + 2, {.parent = place, .branch = &node, .depth = places_[place].depth + 1});
  places_[place].then.emplace(&node, then);
  const std::size_t results = node.outputs.size();
  use(node.inputs[0], place);
  for (std::size_t i = 0; i < 2 * results; ++i) use(node.inputs[1 + i], then + i / results);
}

void Places::use(const Expr& x, Place place) {
  if (!x.defined()) return;
  std::vector<Place>& all = places_of_[x.node().get()];
  for (;;) {
    if (std::ranges::any_of(all, [&](Place old) { return is_within(place, old); })) return;
    std::erase_if(all, [&](Place old) { return is_within(old, place); });
    if (place == 0 || std::ranges::find(all, other_side(place)) == all.end()) break;
    place = places_[place].parent;
  }
  all.push_back(place);
  if (all.size() <= kMostCopies) return;
  Place before = all[0];
  for (const Place each : all) before = common(before, each);
  all = {before};
}

bool Places::is_within(Place inner, Place outer) const {
  while (places_[inner].depth > places_[outer].depth) inner = places_[inner].parent;
  return inner == outer;
}

Place Places::common(Place a, Place b) const {
  while (a != b) {
    if (places_[a].depth < places_[b].depth) std::swap(a, b);
    a = places_[a].parent;
  }
  return a;
}

Place Places::side(Place place, const Node& branch, std::size_t which) const {
  const auto found = places_[place].then.find(&branch);
  return found == places_[place].then.end() ? place : found->second + which;
}

bool Places::is_at(const Node& node, Place place) const {
  const auto found = places_of_.find(&node);
  return found != places_of_.end() &&
         std::ranges::find(found->second, place) != found->second.end();
}

}  // namespace scanloom::expr
