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
  /// Precondition of this function and the next ones: has(operand).
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
