// Executor: executes the flat list of instructions in order. It owns nothing and hands each
// instruction to the part of the run that implements it. It does not recurse, however deep loop
// bodies nest, except for a block of rows, which is a list of its own.
#pragma once

#include <cstdint>
#include <span>

#include "base/expected.h"
#include "plan/binding.h"
#include "runtime/code_driver.h"
#include "runtime/dynamic_calls.h"
#include "runtime/dynamic_tensors.h"
#include "runtime/kernel_calls.h"
#include "runtime/limits.h"
#include "runtime/loop_control.h"
#include "runtime/loop_driver.h"
#include "runtime/loop_state.h"
#include "runtime/objects.h"
#include "runtime/outlined_regions.h"
#include "runtime/progress.h"
#include "runtime/values.h"

namespace scanloom::runtime {

/// Not thread safe. Errors name the node and, from execute(), the steps of the loops around it.
class Executor {
 public:
  /// The parts of the Run that it uses.
  struct Parts {
    Values& values;
    RunProgress& progress;
    KernelCalls& kernels;
    DynamicTensors& tensors;
    Objects& objects;
    DynamicCalls& dynamic_calls;
    LoopControl& control;
    OutlinedRegions& regions;
    CodeDriver& code;
    LoopDriver& driver;
    std::span<LoopState> loops;
  };
  explicit Executor(const Parts& parts) : parts_(parts), binding_(parts.values.binding) {}

  /// Executes the whole list, or, for a worker, the steps of its loop.
  Expected<void> execute(Watch& watch);
  /// Executes from instruction `at` to an `end` instruction. If one fails, sets `at` to it.
  Expected<void> execute_from(std::uint32_t& at, Watch& watch);

 private:
  /// Executes an instruction other than static kernel calls and control flow.
  Expected<void> execute_one(plan::Instruction instruction, Watch& watch);
  /// Returns the index of the next instruction.
  Expected<std::uint32_t> arrive_at_loop(std::uint32_t loop, Watch& watch);
  Expected<void> leave_loop(std::uint32_t loop);
  Expected<void> run_compiled(std::uint32_t loop, Watch& watch);

  Parts parts_;
  const plan::Binding& binding_;
};

}  // namespace scanloom::runtime
