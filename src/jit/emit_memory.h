// Moves lanes of elements between memory and registers.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <span>
#include <vector>

#include "jit/interface.h"
#include "jit/lane_blocks.h"

namespace scanloom::jit {

/// The mask of a shuffle that takes `count` lanes from `first` on.
llvm::SmallVector<int> lanes_from(unsigned first, unsigned count);

/// Returns `base` plus `bytes`.
llvm::Value* add_bytes(llvm::IRBuilder<>& builder, llvm::Value* base, llvm::Value* bytes);

/// Parameters of the run, by parameter_index: values of i64.
using Parameters = std::span<llvm::Value* const>;

/// Returns the parameter that `number` stands for, or the constant.
llvm::Value* number_of(llvm::IRBuilder<>& builder, Parameters parameters, std::int64_t number);

/// Returns the address of the element at `index`, which may be shorter than the strides. `base` is
/// the address of the first element.
llvm::Value* element_address(llvm::IRBuilder<>& builder, Parameters parameters,
                             const loopnest::Access& operand, llvm::Value* base,
                             std::span<llvm::Value* const> index);

/// The distance between lanes in elements: a constant, or an i64.
struct LaneStride {
  std::int64_t known = 0;
  llvm::Value* parameter = nullptr;

  LaneStride(std::int64_t elements) : known(elements) {}  // NOLINT(google-explicit-constructor)
  LaneStride(Parameters parameters, std::int64_t elements)
      : known(elements),
        parameter(loopnest::is_parameter(elements) ? parameters[loopnest::parameter_index(elements)]
                                                   : nullptr) {}
};

/// Transposes registers: register i of the result holds lane i of each row. There are as many rows
/// as lanes, a power of two.
std::vector<llvm::Value*> transpose(llvm::IRBuilder<>& builder, std::vector<llvm::Value*> rows);

/// Loads `width` elements into a register: the first from `address`, each further one `stride`
/// elements on. With stride 0 all lanes hold one element.
llvm::Value* load_lanes(llvm::IRBuilder<>& builder, DType dtype, llvm::Value* address,
                        LaneStride stride, unsigned width);

/// The inverse; with stride 0 only the first lane is stored.
void store_lanes(llvm::IRBuilder<>& builder, DType dtype, llvm::Value* value, llvm::Value* address,
                 LaneStride stride, unsigned width);

/// Loads a block of lanes; `address` is that of its first lane. Preconditions: the stride is
/// not 0, and it is 1 if the block holds lanes twice.
llvm::Value* load_block(llvm::IRBuilder<>& builder, const LoopOperand& operand,
                        llvm::Value* address, const LaneBlock& block);
void store_block(llvm::IRBuilder<>& builder, const LoopOperand& operand, llvm::Value* value,
                 llvm::Value* address, const LaneBlock& block);

}  // namespace scanloom::jit
