// Places: where the nodes of a graph are computed. A branch's sides are operands like any others;
// what a side alone reads belongs in that side, so that it is computed where the side is chosen.
//
// A node that both sides of a branch need is computed before it. One that several branches may
// need, each in a side, is computed in each of these, up to a few times; then before all of them.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "expr/node.h"

namespace scanloom::expr {

/// Number of a place; 0: the graph itself, of which every other place is a side.
using Place = std::size_t;

class Places {
 public:
  /// Of what the outputs, which are needed in any case, reach; of nodes with a stable form that
  /// `takes` agrees to, what that does.
  explicit Places(std::span<const Expr> outputs,
                  const std::function<bool(const Node&)>& takes = {});

  /// Whether the node's stable form is computed in its place.
  [[nodiscard]] bool takes_stable_form(const Node& node) const { return stable_.contains(&node); }
  [[nodiscard]] std::size_t count() const { return places_.size(); }
  /// The nodes that are computed there, each after those it reads.
  [[nodiscard]] const std::vector<const Node*>& nodes(Place place) const {
    return places_[place].nodes;
  }
  /// The place of a side of a branch that is computed at `place`; `place` itself where branches lie
  /// in each other too deep.
  [[nodiscard]] Place side(Place place, const Node& branch, std::size_t which) const;
  /// Of a side: the place of its branch, the branch, and which of its sides this is.
  [[nodiscard]] Place around(Place side) const { return places_[side].parent; }
  [[nodiscard]] const Node& branch(Place side) const { return *places_[side].branch; }
  [[nodiscard]] static std::size_t which(Place side) { return (side + 1) % 2; }
  /// Where the node is computed.
  [[nodiscard]] const std::vector<Place>& of(const Node& node) const {
    return places_of_.at(&node);
  }
  /// Whether the node is computed at that very place.
  [[nodiscard]] bool is_at(const Node& node, Place place) const;
  /// Whether the node is computed in any case.
  [[nodiscard]] bool is_always(const Node& node) const { return is_at(node, 0); }

 private:
  struct Row {
    Place parent = 0;
    const Node* branch = nullptr;
    int depth = 0;
    std::vector<const Node*> nodes;
    std::unordered_map<const Node*, Place> then;  ///< by branch; the other side is the next place
  };

  void use(const Expr& x, Place place);
  void use_operands(const Node& node, Place place);
  [[nodiscard]] bool is_within(Place inner, Place outer) const;
  [[nodiscard]] Place common(Place a, Place b) const;

  std::unordered_set<const Node*> stable_;
  std::vector<Row> places_;
  std::unordered_map<const Node*, std::vector<Place>> places_of_;
};

}  // namespace scanloom::expr
