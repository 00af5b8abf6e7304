// What the step function of a scan describes.
#pragma once

#include <scanloom/scan.h>

#include <functional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "expr/scan_taps.h"

namespace scanloom::expr {

using StepFunction = std::function<Step(const StepInputs&)>;

struct DescribedStep {
  Step step;
  std::vector<ScanState> states;  ///< by output
};

/// Calls the step function of the scan `location` with slices, states and captured values, until
/// the states that begin with numbers have the types that it gives them. Errors: those of the step
/// function, initial values that do not fit, a wrong number of outputs.
Expected<DescribedStep> describe_step(const ScanOptions& options, const StepFunction& function,
                                      const std::vector<Expr>& slices, const std::string& location);

/// Returns the outputs, the condition that ends the loop if there is one, and the next values of
/// shared variables.
[[nodiscard]] std::vector<Expr> results_of(const Step& step);

}  // namespace scanloom::expr
