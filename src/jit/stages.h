// Stages: a loop over one lane, cut so that what does not recur is computed for many steps at once.
#pragma once

#include <optional>
#include <vector>

#include "jit/interface.h"

namespace scanloom::jit {

/// Assigns every register of a loop's program to a stage. Even stages run step by step, odd ones
/// for many steps at once; the stages run one after the other over a chunk of steps. kInvariant:
/// the same in all steps. Slices are read in stage 0. A state is carried in an even stage: that of
/// its next value, or a later one.
struct Stages {
  static constexpr int kInvariant = -1;

  /// Returns the first even stage that may read what a stage computes.
  static constexpr int even_from(int stage) { return stage == kInvariant ? 0 : stage + stage % 2; }

  std::vector<int> of;  ///< by register
  int count = 0;        ///< the last stage is even
  /// Registers that are read by stages other than their own.
  std::vector<std::int32_t> crossing;
};

/// nullopt if that is not possible, or does not pay because nearly all of the work recurs.
std::optional<Stages> cut_into_stages(const LoopSource& source);

}  // namespace scanloom::jit
