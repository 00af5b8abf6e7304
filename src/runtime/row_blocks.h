// RowBlocks: computes scanned rows that are blocked over steps, one block before its first step.
// Invariant: the rows of the steps [block_first, block_end) of LoopState are computed.
#pragma once

#include <cstdint>
#include <span>

#include "base/expected.h"
#include "runtime/limits.h"
#include "runtime/loop_state.h"
#include "runtime/values.h"

namespace scanloom::runtime {

class Executor;

class RowBlocks {
 public:
  RowBlocks(Values& values, Executor& executor, std::span<LoopState> loops)
      : values_(values), executor_(executor), loops_(loops) {}

  /// Computes the block of rows that begins with the present step. Errors: those of its
  /// instructions.
  Expected<void> make(std::uint32_t loop, Watch& watch);

 private:
  Values& values_;
  Executor& executor_;
  std::span<LoopState> loops_;
};

}  // namespace scanloom::runtime
