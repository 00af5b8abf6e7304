// A counting loop as LLVM IR.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace scanloom::jit {

/// One pass of a loop: given the count and the values carried so far, returns the next ones.
using Pass = std::function<std::vector<llvm::Value*>(llvm::Value* count,
                                                     const std::vector<llvm::Value*>& carried)>;

/// Passes for first, first + step, ... below last, of which there is one at least, all i64. Returns
/// what the last pass carries on; the builder stands behind the loop then.
std::vector<llvm::Value*> emit_counting_loop(llvm::IRBuilder<>& builder, llvm::Value* first,
                                             llvm::Value* last, llvm::Value* step,
                                             std::vector<llvm::Value*> carried, const Pass& pass);

/// The same where the counts are known, without a loop where there is one pass.
struct CountRange {
  std::int64_t first, last, step;
};
std::vector<llvm::Value*> counted(llvm::IRBuilder<>& builder, CountRange range,
                                  std::vector<llvm::Value*> carried, const Pass& pass);

/// Lets the loop that the branch goes back to begin with a line of the cache. Of a body of few
/// instructions the branch may else lie across two lines, and each pass take a cycle longer.
void align_loop(llvm::BranchInst& back);

}  // namespace scanloom::jit
