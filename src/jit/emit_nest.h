// A Nest to LLVM IR: loops over all axes but the last, vectors along the last, each reduction in
// accumulators beside it.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <map>
#include <vector>

#include "jit/interface.h"
#include "jit/local_values.h"

namespace scanloom::jit {

/// What the nests of one body share.
struct NestTarget {
  std::map<std::int32_t, llvm::Value*> slots;  ///< where the pointer of each slot lies that moves
  std::map<std::int32_t, llvm::Value*> fixed;  ///< the pointers of the others
  std::vector<llvm::Value*> parameters;        ///< of the run
  std::vector<llvm::Value*> locals;            ///< the addresses of the code's own memory
  unsigned vector_bytes = 0;                   ///< the width of the machine's vectors
  std::size_t registers = 16;                  ///< of vectors
  bool with_fma = false;                       ///< whether products are added with one rounding
  LocalValues known = {};                      ///< of the code's own memory
  llvm::BasicBlock* outside = nullptr;         ///< where a nest goes on that meets such an index
};

/// Where a slot points now.
llvm::Value* pointer_of(llvm::IRBuilder<>& builder, const NestTarget& target, std::int32_t slot);

/// Appends the nest at the builder's place, and notes what it has stored. Precondition: all
/// programs are supported.
void emit_nest(llvm::IRBuilder<>& builder, const loopnest::Nest& nest, NestTarget& target);

}  // namespace scanloom::jit
