// The LLVM function of a LoopSource, with the fields of its LoopFrame at hand.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <vector>

#include "jit/interface.h"

namespace scanloom::jit {

/// Whether its program is so long that it will be cut (see split_blocks.h). Then what it reads is
/// best loaded, and what it makes stored, where the program needs and makes it.
[[nodiscard]] bool is_long(const LoopSource& source);

class LoopFunction {
 public:
  /// One operand's base address and, of slices and rows, its bytes per step; the base is that of
  /// the slice of the first step of a call. In a long loop, slices and rows have neither: they are
  /// so many that registers do not hold them, and at_step() loads them from the frame.
  struct Port {
    const LoopOperand* operand;
    llvm::Value* base = nullptr;
    llvm::Value* step = nullptr;
    llvm::Value* bases = nullptr;  ///< in the frame, of the port and its like
    llvm::Value* steps = nullptr;
    std::size_t index = 0;
  };

  /// The builder stands at the end of the function's first block.
  LoopFunction(llvm::Module& module, const LoopSource& source);

  [[nodiscard]] bool is_long() const { return jit::is_long(source); }

  [[nodiscard]] llvm::Value* first_step() const { return function->getArg(1); }
  [[nodiscard]] llvm::Value* last_step() const { return function->getArg(2); }
  llvm::BasicBlock* block(const char* name) {
    return llvm::BasicBlock::Create(function->getContext(), name, function);
  }
  llvm::Value* integer(std::int64_t value) {
    return builder.getInt64(static_cast<std::uint64_t>(value));
  }

  /// Where the slice or row of a step lies that is so many steps behind the first of the call.
  llvm::Value* at_step(const Port& port, llvm::Value* passed);
  /// Where a lane of an operand lies, from the address of its lane 0.
  llvm::Value* at_lane(const LoopOperand& operand, llvm::Value* base, llvm::Value* lane);

  const LoopSource& source;
  llvm::IRBuilder<> builder;
  llvm::Function* function = nullptr;
  std::vector<Port> captured, carried_in, carried_out, scanned, stacked;

 private:
  std::vector<Port> load_ports(const std::vector<LoopOperand>& operands, int addresses,
                               int strides);
};

}  // namespace scanloom::jit
