// The body of a loop whose states are single elements, each an affine recurrence or a sum over the
// steps. Computes the results of many steps without stepping. Used by affine_backward.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/builder.h"

namespace scanloom::passes {

/// The results of a number of steps.
struct StepRows {
  std::vector<ir::ValueId> states;   ///< for a chain the final state, for a sum what each step adds
  std::vector<ir::ValueId> stacked;  ///< the rows of each port
};

class AffineBody {
 public:
  /// nullopt: some value has more than one element, a node does more than compute element by
  /// element, or a state is neither a chain nor a sum. Also if all states are sums, which wait for
  /// little.
  static std::optional<AffineBody> of(const ir::Module& module, ir::NodeId loop);

  /// Whether the state only adds up, and nothing reads it before the end.
  [[nodiscard]] bool is_sum(std::size_t state) const { return part_of_sum_[state].valid(); }

  [[nodiscard]] std::int64_t chain_count() const {
    return static_cast<std::int64_t>(chains_.size());
  }
  /// Returns the largest number of nodes between a state of a chain and its next value.
  [[nodiscard]] std::int64_t longest_path() const;

  /// Appends the nodes that compute `steps` steps. `arguments`: the body's; for a scanned argument
  /// the elements of all these steps. If `backward`, these and the resulting rows go from the last
  /// step to the first.
  Expected<StepRows> rows(ir::Builder& builder, const std::vector<ir::ValueId>& arguments,
                          std::int64_t steps, bool backward) const;

 private:
  friend class AffineRows;
  AffineBody(const ir::Module& module, ir::NodeId loop);

  [[nodiscard]] ir::ValueId argument_of(std::size_t state) const {
    return args_[captured_ + state];
  }
  bool find_needs(const ir::Module& module);
  void find_sums(const ir::Module& module);
  bool order_chains(const ir::Module& module);
  [[nodiscard]] bool is_affine(const ir::Module& module, std::size_t state) const;
  [[nodiscard]] std::vector<ir::NodeId> path_to(const ir::Module& module, std::size_t state) const;
  void find_needed(const ir::Module& module);

  std::vector<ir::ValueId> args_, nexts_, rows_;
  std::vector<ir::NodeId> nodes_;
  std::size_t captured_ = 0;
  std::map<ir::ValueId, std::set<std::size_t>> needs_;  ///< the states that a value depends on
  std::vector<ir::ValueId> part_of_sum_;        ///< by state: what a step adds; invalid: a chain
  std::vector<std::size_t> chains_;             ///< each after those that it reads
  std::vector<std::vector<ir::NodeId>> paths_;  ///< by chain: the nodes from the state to its next
                                                ///< value
  std::set<ir::ValueId> needed_;  ///< values that rows, sums and factors of chains are made from
};

}  // namespace scanloom::passes
