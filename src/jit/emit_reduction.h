// The reductions of a nest to LLVM IR: accumulators for a block of lanes, and one loop for all
// reductions over the same axes.
#pragma once

#include <span>
#include <vector>

#include "jit/emit_nest.h"

namespace scanloom::jit {

/// The reductions of one block of lanes.
struct ReductionSite {
  const loopnest::Nest& nest;
  const NestTarget& target;
  const std::vector<std::vector<llvm::Value*>>&
      bases;                            ///< addresses: of each reduction, of its reads
  std::span<llvm::Value* const> index;  ///< of the block's first lane
  unsigned width;                       ///< lanes
};

/// The result of each reduction.
std::vector<llvm::Value*> emit_reductions(llvm::IRBuilder<>& builder, const ReductionSite& site);

/// How many lanes a block should have at most, so that what is reduced stays in registers.
unsigned lanes_of_reductions(const loopnest::Nest& nest, const NestTarget& target);

}  // namespace scanloom::jit
