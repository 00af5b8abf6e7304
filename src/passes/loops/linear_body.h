// The body of a loop whose states are linear recurrences of single elements, or delay a value by a
// step: which states belong together, in which order they can be solved, and what must be computed
// for all steps. Used by linear_recurrences.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "passes/lifting/lift.h"

namespace scanloom::passes {

/// States that are solved together: one or two whose next values are linear in the group's states,
/// or one that is set to a value that does not depend on it.
struct StateGroup {
  bool is_delay = false;
  bool varies = false;  ///< whether coefficients differ from step to step; only for one state
  std::vector<std::size_t> states;
  std::vector<ir::NodeId> path;  ///< the nodes between the group's states and their next values
};

class LinearBody {
 public:
  /// nullopt: a state is of another kind, all of them are delays, or a node cannot be computed for
  /// all steps at once.
  static std::optional<LinearBody> of(ir::Module& module, const KnownSizes& sizes, ir::NodeId loop);

  /// In an order in which each group only reads the states of those before it.
  [[nodiscard]] const std::vector<StateGroup>& groups() const { return groups_; }
  [[nodiscard]] ir::ValueId argument_of(std::size_t state) const;
  [[nodiscard]] ir::ValueId next_of(std::size_t state) const;
  /// Whether the value differs from step to step.
  [[nodiscard]] bool varies(ir::ValueId value) const { return varying_.contains(value); }
  [[nodiscard]] bool depends_on(ir::ValueId value, const StateGroup& group) const;
  /// Whether the value is read by something else than the paths of groups.
  [[nodiscard]] bool is_needed(ir::ValueId value) const { return needed_.contains(value); }

 private:
  LinearBody(const ir::Module& module, ir::NodeId loop) : module_(&module), loop_(loop) {}

  [[nodiscard]] const std::vector<ir::NodeId>& nodes() const;
  [[nodiscard]] std::size_t state_count() const;
  bool find_dependences();
  bool find_groups();
  [[nodiscard]] std::set<std::size_t> mutual(std::size_t state) const;
  bool add_group(const std::set<std::size_t>& states);
  [[nodiscard]] bool is_linear(const StateGroup& group) const;
  [[nodiscard]] bool is_linear(const ir::Node& node, const StateGroup& group) const;
  [[nodiscard]] bool reads(const ir::Node& node, std::size_t i, const StateGroup& group) const {
    return depends_on(node.inputs[i], group);
  }
  void find_needed();
  bool can_lift_needed(ir::Module& module, const KnownSizes& sizes) const;

  const ir::Module* module_;
  ir::NodeId loop_;
  std::map<ir::ValueId, std::set<std::size_t>> needs_;  ///< the states that a value depends on
  std::set<ir::ValueId> varying_;
  std::vector<std::set<std::size_t>> reach_;  ///< by state: those that it depends on over the steps
  std::vector<StateGroup> groups_;
  std::set<ir::ValueId> needed_;
};

/// Whether the operator returns the elements of its first operand as they are, in order.
bool only_reshapes(const ir::OpDef& op);

}  // namespace scanloom::passes
