// RunState: the parts of one Run, in the order of their dependencies. Each part has references to
// those that it uses. A worker of parallel steps is another RunState.
#pragma once

#include <memory>
#include <vector>

#include "plan/binding.h"
#include "runtime/aligned_bytes.h"
#include "runtime/code_driver.h"
#include "runtime/dynamic_calls.h"
#include "runtime/dynamic_tensors.h"
#include "runtime/executor.h"
#include "runtime/kernel_calls.h"
#include "runtime/loop_control.h"
#include "runtime/loop_driver.h"
#include "runtime/loop_state.h"
#include "runtime/objects.h"
#include "runtime/outlined_regions.h"
#include "runtime/parallel_steps.h"
#include "runtime/progress.h"
#include "runtime/row_blocks.h"
#include "runtime/run_memory.h"
#include "runtime/speculated_steps.h"
#include "runtime/stacked_rows.h"
#include "runtime/values.h"

namespace scanloom::runtime {

struct RunState {
  /// `arena` holds the binding's arena_bytes plus scratch_bytes.
  RunState(std::shared_ptr<const plan::Binding> bound, AlignedBytes arena, int max_threads);
  RunState(const RunState&) = delete;
  RunState& operator=(const RunState&) = delete;

  /// Drops the state of a run that later runs do not need.
  void end_run();
  /// Frees the memory that earlier runs kept for later ones.
  void release_kept();

  const std::shared_ptr<const plan::Binding> binding;
  std::vector<LoopState> loops;
  RunMemory memory;  // outlives the values, whose storage it counts
  Values values;
  RunProgress progress;
  KernelCalls kernels;
  DynamicTensors tensors;
  Objects objects;
  StackedRows rows;
  DynamicCalls dynamic_calls;
  LoopControl control;
  OutlinedRegions regions;
  RowBlocks blocks;
  SpeculatedSteps speculated;
  CodeDriver code;
  ParallelSteps parallel;
  LoopDriver driver;
  Executor executor;
};

}  // namespace scanloom::runtime
