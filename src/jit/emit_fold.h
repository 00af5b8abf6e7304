// The folds of a nest to LLVM IR: accumulators for a block of lanes, and one loop for all folds
// over the same axes.
#pragma once

#include <span>
#include <vector>

#include "jit/emit_nest.h"

namespace scanloom::jit {

/// The folds of one block of lanes.
struct FoldSite {
  const loopnest::Nest& nest;
  const NestTarget& target;
  const std::vector<std::vector<llvm::Value*>>& bases;  ///< addresses: of each fold, of its reads
  std::span<llvm::Value* const> index;                  ///< of the block's first lane
  unsigned width;                                       ///< lanes
};

/// The result of each fold.
std::vector<llvm::Value*> emit_folds(llvm::IRBuilder<>& builder, const FoldSite& site);

/// How many lanes a block should have at most, so that what is folded stays in registers.
unsigned lanes_of_folds(const loopnest::Nest& nest, const NestTarget& target);

}  // namespace scanloom::jit
