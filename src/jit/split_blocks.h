// Long blocks of instructions cut into functions of their own, called one after the other. LLVM
// looks at a whole block at once, and the time of its register allocation and scheduling grows
// faster than the block; of parts of one length it takes the same time each. Instructions and their
// order stay, and so do the bits.
#pragma once

#include <llvm/IR/Module.h>

#include <cstddef>

namespace scanloom::jit {

/// A program of more instructions, loads and stores makes blocks that are cut: LLVM has about two
/// of its own for each.
inline constexpr std::size_t kManyInstructions = 512;

/// Cuts all blocks of the module that are longer than some thousands of instructions.
void split_long_blocks(llvm::Module& module);

}  // namespace scanloom::jit
