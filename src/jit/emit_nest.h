// Lowers a Nest to LLVM IR: loops over all axes except the last, and vectors along the last. Each
// reduction has its own accumulators.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <map>
#include <vector>

#include "jit/interface.h"
#include "jit/local_values.h"

namespace scanloom::jit {

/// Shared by the nests of one body.
struct NestTarget {
  std::map<std::int32_t, llvm::Value*>
      slots;  ///< where the pointer of each slot that moves is stored
  std::map<std::int32_t, llvm::Value*> fixed;  ///< the pointers of the other slots
  std::vector<llvm::Value*> parameters;        ///< of the run
  std::vector<llvm::Value*> locals;            ///< the addresses of the code's own memory
  unsigned vector_bytes = 0;                   ///< the width of the machine's vectors
  std::size_t registers = 16;                  ///< number of vector registers
  bool with_fma = false;                       ///< whether products are added with one rounding
  LocalValues known = {};                      ///< of the code's own memory, as far as known
  llvm::BasicBlock* outside = nullptr;  ///< continuation of a nest with an index out of range
};

/// Returns where a slot points now.
llvm::Value* pointer_of(llvm::IRBuilder<>& builder, const NestTarget& target, std::int32_t slot);

/// Appends the nest at the builder's insertion point and records what it stores. Precondition: all
/// programs are supported.
void emit_nest(llvm::IRBuilder<>& builder, const loopnest::Nest& nest, NestTarget& target);

}  // namespace scanloom::jit
