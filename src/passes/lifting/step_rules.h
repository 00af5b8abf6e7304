// What single operators do to the axis of the steps; step_axes.h follows it from node to node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "passes/lifting/step_axes.h"

namespace scanloom::passes {

/// A node of the top region with at least one operand along the steps, and what is known of all
/// values before it.
struct StepSite {
  const ir::Module& module;
  const ir::Node& node;
  const std::vector<StepFlow>& flows;      ///< by ValueId
  const std::vector<std::uint32_t>& uses;  ///< by ValueId
  tensor::DimTable& dims;                  ///< the module's, for sizes that are computed here
  ir::Dim steps;

  [[nodiscard]] bool has(std::size_t operand) const;
  [[nodiscard]] bool along(std::size_t operand) const;
  /// Returns `same` for an absent operand.
  [[nodiscard]] StepFlow::Kind kind(std::size_t operand) const;
  /// Whether any operand is of that kind.
  [[nodiscard]] bool any(StepFlow::Kind wanted) const;
  /// Precondition of this function and of axis() and type(): has(operand).
  [[nodiscard]] const StepFlow& flow(std::size_t operand) const;
  [[nodiscard]] int axis(std::size_t operand) const { return flow(operand).axis; }
  [[nodiscard]] const ir::Type& type(std::size_t operand) const;
  [[nodiscard]] const ir::Type& result_type() const;
  /// Returns the elements of a constant list; nullopt for other operands.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(std::size_t operand) const;
  [[nodiscard]] bool is_read(std::size_t output) const;
};

/// Makes the error of a rule: says what is wrong, not where.
Error across(std::string reason);

/// Returns where the steps are in all results of the node. Error: unsupported, saying why it is not
/// known. Precondition: the ranks of operands and results are known.
Expected<StepFlow> flow_of_results(const StepSite& site);

/// Returns the same for any node along the steps that is neither a loop nor a layer, including
/// products that sum over the steps and picks of the last one. Error: as above, or unknown ranks.
Expected<StepFlow> flow_along(const StepSite& site);

/// Returns where the steps are in the results of a node that reads the sizes of a value along the
/// steps, or values computed from these. Error: unsupported, it does anything else with them.
Expected<StepFlow> flow_of_count(const StepSite& site);

/// Where the steps are in the results of a node that carries values from step to step.
struct CarriedFlow {
  std::vector<StepFlow> results;  ///< of the first ones; the others do not depend on the steps
  std::vector<CarriedSite> sites;
};

/// A loop along the steps. Error: unsupported, saying why its steps are not the stream's.
Expected<CarriedFlow> flow_of_loop(const StepSite& site, ir::NodeId id);
/// An LSTM, GRU or RNN layer. Error: unsupported, saying why its steps are not the stream's.
Expected<CarriedFlow> flow_of_layer(const StepSite& site, ir::NodeId id);
/// A node that reads a sum over the steps. What it adds to the sum is carried from piece to piece.
/// Error: unsupported, it does anything else with the sum.
Expected<CarriedFlow> flow_of_sum(const StepSite& site, ir::NodeId id);

// Rules for operators that work on each element of a batch, or by indices. Each returns the axis of
// the steps in the results.
Expected<int> steps_of_windows(const StepSite& site);
Expected<int> steps_of_pool(const StepSite& site);
Expected<int> steps_of_deform_conv(const StepSite& site);
Expected<int> steps_of_grid_sample(const StepSite& site);
Expected<int> steps_of_regions(const StepSite& site);
Expected<int> steps_of_matrices(const StepSite& site);
Expected<int> steps_of_reverse_sequence(const StepSite& site);
Expected<int> steps_of_gather(const StepSite& site);
Expected<int> steps_of_gather_elements(const StepSite& site);
Expected<int> steps_of_gather_nd(const StepSite& site);
Expected<int> steps_of_scatter_elements(const StepSite& site);
Expected<int> steps_of_scatter_nd(const StepSite& site);

}  // namespace scanloom::passes
