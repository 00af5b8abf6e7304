// Splits long basic blocks into functions that are called one after the other. LLVM's register
// allocation and scheduling look at a whole block, and their time grows faster than its length;
// parts of one length take the same time each. Instructions and their order stay, and so do the
// bits.
#pragma once

#include <llvm/IR/Module.h>

#include <cstddef>

namespace scanloom::jit {

/// A program with more instructions, loads and stores than this has blocks that are split: LLVM has
/// about two instructions for each.
inline constexpr std::size_t kManyInstructions = 512;

/// Splits all blocks of the module that are longer than some thousands of instructions.
void split_long_blocks(llvm::Module& module);

}  // namespace scanloom::jit
