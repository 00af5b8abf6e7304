// OutlinedRegions: compiled parts of loop bodies, between instructions that cannot be compiled. It
// owns the code and, for Runs with regions, a copy of the flat list in which an `outlined_region`
// instruction replaces the first instruction of each compiled region. That instruction runs the
// region and continues after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/expected.h"
#include "plan/binding.h"
#include "plan/plan.h"
#include "runtime/kernel_calls.h"
#include "runtime/limits.h"
#include "runtime/loop_state.h"
#include "runtime/progress.h"
#include "runtime/values.h"

namespace scanloom::runtime {

/// Not thread safe, except that several workers may adopt the code of one `main` at once.
class OutlinedRegions {
 public:
  OutlinedRegions(Values& values, KernelCalls& kernels, RunProgress& progress,
                  std::span<LoopState> loops);

  /// Returns the list to execute. It is the binding's if the run is profiled, or if its limits do
  /// not allow taking all steps of the loops in a region at once.
  [[nodiscard]] const plan::Instruction* list(const Limits& limits) const;
  /// Compiles the regions of the loop; those that cannot be compiled are stepped. Error: that of
  /// `may_go_on`.
  Expected<void> compile(std::uint32_t loop, const plan::MayGoOn& may_go_on);
  /// Copies the code of regions that `main` has compiled and this object has not.
  void adopt(const OutlinedRegions& main);
  /// Runs the compiled region `index`. Errors: those of its calls and of the limits.
  Expected<void> run(std::uint32_t index, Watch& watch);

 private:
  void set(std::size_t index, const plan::BodyCode& made);
  [[nodiscard]] bool allowed(const Limits& limits) const;

  const plan::Binding& binding_;
  Values& values_;
  KernelCalls& kernels_;
  RunProgress& progress_;
  std::span<LoopState> loops_;
  std::vector<plan::BodyCode> regions_;  // those without code are stepped
  std::vector<plan::Instruction> list_;  // empty: the binding has no regions
};

}  // namespace scanloom::runtime
