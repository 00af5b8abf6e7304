// NestTarget: the values of a function that its nests use, and the addresses of their operands.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>
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

/// Returns the address of an operand's first element.
llvm::Value* base_address(llvm::IRBuilder<>& builder, const NestTarget& target,
                          const loopnest::Access& operand);
/// Returns the distance between an operand's lanes, in elements.
std::int64_t lane_stride(const loopnest::Nest& nest, const loopnest::Access& operand);

}  // namespace scanloom::jit
