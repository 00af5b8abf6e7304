// A counting loop as LLVM IR.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace scanloom::jit {

/// One pass of a loop: takes the counter and the values carried so far, returns the next ones.
using Pass = std::function<std::vector<llvm::Value*>(llvm::Value* count,
                                                     const std::vector<llvm::Value*>& carried)>;

/// Emits passes for first, first + step, ... below last; there must be at least one. All are i64.
/// Returns the values carried out of the last pass. The builder is then after the loop.
std::vector<llvm::Value*> emit_counting_loop(llvm::IRBuilder<>& builder, llvm::Value* first,
                                             llvm::Value* last, llvm::Value* step,
                                             std::vector<llvm::Value*> carried, const Pass& pass);

/// Constant counts, for which counted() emits a loop like the above, or none for a single pass.
struct CountRange {
  std::int64_t first, last, step;
};
std::vector<llvm::Value*> counted(llvm::IRBuilder<>& builder, CountRange range,
                                  std::vector<llvm::Value*> carried, const Pass& pass);

/// Aligns the loop that the branch goes back to with a cache line. Otherwise the branch of a short
/// loop may straddle two lines, and each pass take a cycle longer.
void align_loop(llvm::BranchInst& back);

}  // namespace scanloom::jit
