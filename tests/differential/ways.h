// Runs a module in one way, and compares its results with those of another way.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/expected.h"
#include "ir/module.h"
#include "jit/interface.h"
#include "plan/plan.h"
#include "tensor/tensor.h"

namespace scanloom::differential {

/// The texts of the modules in cases.ir.
std::vector<std::string> read_cases();

/// Values around zero for every input; `length` for symbols and for scalars of i64. Those of
/// modules whose names begin with "special" also hold what calculations go wrong with.
std::vector<tensor::Tensor> feeds_of(const ir::Module& module, std::int64_t length);

/// Fails the test unless both have equal bits; any NaN equals any other.
void expect_identical(const tensor::Tensor& got, const tensor::Tensor& wanted,
                      const std::string& where);

/// Compiles every loop that it can, with the first step; nullptr: none.
std::shared_ptr<const plan::Plan> plan_of(
    const ir::Module& module, const jit::Plugin* compiler,
    plan::SpeculationMode speculation = plan::SpeculationMode::never);

using BoundPlan = Expected<std::shared_ptr<const plan::Binding>>;

/// Binds the plan for the sizes of the feeds. How each loop is executed is added to `strategies`.
BoundPlan bind_planned(const std::shared_ptr<const plan::Plan>& plan,
                       const std::vector<tensor::Tensor>& feeds, std::string& strategies);

/// The results of a second run of one Run, which the first must not show in; or why the plan was
/// not bound.
Expected<std::vector<tensor::Tensor>> run_bound(const BoundPlan& binding,
                                                const std::vector<tensor::Tensor>& feeds,
                                                int threads);

/// Both of these.
Expected<std::vector<tensor::Tensor>> run_planned(const std::shared_ptr<const plan::Plan>& plan,
                                                  const std::vector<tensor::Tensor>& feeds,
                                                  int threads, std::string& strategies);

}  // namespace scanloom::differential
