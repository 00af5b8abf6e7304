// Executor: takes the flat list of instructions one after the other. It owns nothing: an
// instruction is passed on to the part of the run that it is about. Nothing recurses, however deep
// bodies nest, except that a block of rows is a list of its own.
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
  /// What it works on.
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
  /// Executes from instruction `at` to an `end`; `at` becomes the instruction that failed, if one
  /// did.
  Expected<void> execute_from(std::uint32_t& at, Watch& watch);

 private:
  /// Executes an instruction that neither calls a kernel of known sizes nor says where the list
  /// goes on.
  Expected<void> execute_one(plan::Instruction instruction, Watch& watch);
  /// Returns the instruction to go on with.
  Expected<std::uint32_t> arrive_at_loop(std::uint32_t loop, Watch& watch);
  Expected<void> leave_loop(std::uint32_t loop);
  Expected<void> run_compiled(std::uint32_t loop, Watch& watch);

  Parts parts_;
  const plan::Binding& binding_;
};

}  // namespace scanloom::runtime
