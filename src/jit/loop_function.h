// LoopFunction: the LLVM function of a LoopSource, with access to the fields of its LoopFrame.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <vector>

#include "jit/interface.h"

namespace scanloom::jit {

/// Whether its program is so long that it will be split (see split_blocks.h). Such a program had
/// better load inputs, and store results, where it needs and computes them.
[[nodiscard]] bool is_long(const LoopSource& source);

class LoopFunction {
 public:
  /// One operand's base address and, for slices and rows, its bytes per step; the base is that of
  /// the slice of a call's first step. A long loop has too many slices and rows for registers: they
  /// have neither, and at_step() loads them from the frame.
  struct Port {
    const LoopOperand* operand;
    llvm::Value* base = nullptr;
    llvm::Value* step = nullptr;
    llvm::Value* bases = nullptr;  ///< in the frame, for all ports of this kind
    llvm::Value* steps = nullptr;
    std::size_t index = 0;
  };

  /// The builder is then at the end of the function's first block.
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

  /// Returns the address of the slice or row of a step, `passed` steps after the first of the call.
  llvm::Value* at_step(const Port& port, llvm::Value* passed);
  /// Returns the address of an operand's lane, given that of its lane 0.
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
