// Lowers the reductions of a nest to LLVM IR: accumulators for a block of lanes, and one loop for
// all reductions over the same axes.
#pragma once

#include <span>
#include <vector>

#include "jit/emit_nest.h"

namespace scanloom::jit {

/// The reductions of one block of lanes.
struct ReductionSite {
  const loopnest::Nest& nest;
  const NestTarget& target;
  const std::vector<std::vector<llvm::Value*>>& bases;  ///< addresses, by reduction and read
  std::span<llvm::Value* const> index;                  ///< of the block's first lane
  unsigned width;                                       ///< lanes
};

/// Returns the result of each reduction.
std::vector<llvm::Value*> emit_reductions(llvm::IRBuilder<>& builder, const ReductionSite& site);

/// Returns the most lanes that a block may have for its accumulators to stay in registers.
unsigned lanes_of_reductions(const loopnest::Nest& nest, const NestTarget& target);

}  // namespace scanloom::jit
