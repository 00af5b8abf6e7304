// The values of operands in a group of lanes, and their phis in the loop over steps.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstddef>
#include <vector>

namespace scanloom::jit {

/// Uniform elements, and the registers of each block of lanes. Each operand has one of the two; the
/// other is null.
struct GroupValues {
  explicit GroupValues(std::size_t blocks) : of_blocks(blocks) {}
  void append(const GroupValues& other);

  std::vector<llvm::Value*> uniform;
  std::vector<std::vector<llvm::Value*>> of_blocks;
};

/// Creates phis of the values (or nulls) from block `before`; close_phis() adds those from `steps`.
std::vector<llvm::Value*> open_phis(llvm::IRBuilder<>& builder,
                                    const std::vector<llvm::Value*>& initial,
                                    llvm::BasicBlock* before);
GroupValues open_phis(llvm::IRBuilder<>& builder, const GroupValues& initial,
                      llvm::BasicBlock* before);

void close_phis(const std::vector<llvm::Value*>& made, const std::vector<llvm::Value*>& next,
                llvm::BasicBlock* steps);
void close_phis(const GroupValues& made, const GroupValues& next, llvm::BasicBlock* steps);

}  // namespace scanloom::jit
