// RunState: the parts of one Run, in the order in which they build on each other. Each part owns
// what its header says and knows those it works on; this only holds them together. A worker of
// parallel steps is another RunState.
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
#include "runtime/stacked_rows.h"
#include "runtime/values.h"

namespace scanloom::runtime {

struct RunState {
  /// `arena`: of the binding's arena_bytes and scratch_bytes.
  RunState(std::shared_ptr<const plan::Binding> bound, AlignedBytes arena, int max_threads);
  RunState(const RunState&) = delete;
  RunState& operator=(const RunState&) = delete;

  /// Drops what a run leaves behind that later runs have no use for.
  void end_run();
  /// Frees what earlier runs have left for later ones.
  void release_kept();

  const std::shared_ptr<const plan::Binding> binding;
  std::vector<LoopState> loops;
  RunMemory memory;  // outlives the values that count on it
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
  CodeDriver code;
  ParallelSteps parallel;
  LoopDriver driver;
  Executor executor;
};

}  // namespace scanloom::runtime
