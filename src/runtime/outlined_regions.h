// OutlinedRegions: parts of loop bodies that are machine code, between instructions that cannot be.
// It owns the code and, for Runs with regions, a copy of the flat list that has an
// `outlined_region` instruction over the first instruction of each region that is code; the
// instruction runs the region and goes on after it.
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

/// Not thread safe, except that several workers may adopt code of one `main` at once.
class OutlinedRegions {
 public:
  OutlinedRegions(Values& values, KernelCalls& kernels, RunProgress& progress,
                  std::span<LoopState> loops);

  /// Returns the list to execute: the binding's where the run is profiled or where its limits do
  /// not allow all steps of the loops inside regions at once.
  [[nodiscard]] const plan::Instruction* list(const Limits& limits) const;
  /// Compiles the regions of the loop. Error: that of `may_go_on`; what cannot be compiled is
  /// stepped.
  Expected<void> compile(std::uint32_t loop, const plan::MayGoOn& may_go_on);
  /// Takes the code that `main` has and this has not.
  void adopt(const OutlinedRegions& main);
  /// Runs region `index`, which is code. Errors: those of its calls, and of the limits.
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
