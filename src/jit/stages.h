// Stages: a loop over one lane, cut so that what does not recur is computed for many steps at once.
#pragma once

#include <optional>
#include <vector>

#include "jit/interface.h"

namespace scanloom::jit {

/// Every register of a loop's program belongs to a stage. Even stages run step by step, odd ones
/// for many steps at once, one stage after the other over a chunk of steps; kInvariant: the same in
/// all steps. Slices are read in stage 0; a state is carried in an even stage, in or behind that of
/// its next value.
struct Stages {
  static constexpr int kInvariant = -1;

  /// The first even stage that may read what a stage makes.
  static constexpr int even_from(int stage) { return stage == kInvariant ? 0 : stage + stage % 2; }

  std::vector<int> of;  ///< by register
  int count = 0;        ///< the last one is even
  /// Registers that other stages read than their own.
  std::vector<std::int32_t> crossing;
};

/// nullopt where that is not possible, or would not pay: little of the work does not recur.
std::optional<Stages> cut_into_stages(const LoopSource& source);

}  // namespace scanloom::jit
