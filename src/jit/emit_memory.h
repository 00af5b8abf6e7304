// Lanes of elements between memory and registers.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <span>
#include <vector>

#include "jit/interface.h"
#include "jit/lane_blocks.h"

namespace scanloom::jit {

/// What a shuffle takes: `count` lanes, from that one on.
llvm::SmallVector<int> lanes_from(unsigned first, unsigned count);

/// `base` and `bytes` more.
llvm::Value* add_bytes(llvm::IRBuilder<>& builder, llvm::Value* base, llvm::Value* bytes);

/// Parameters of the run, by parameter_index: values of i64.
using Parameters = std::span<llvm::Value* const>;

/// Such a number, or that constant.
llvm::Value* number_of(llvm::IRBuilder<>& builder, Parameters parameters, std::int64_t number);

/// The address of the element at `index`, of which there may be fewer than strides; `base` is that
/// of the first.
llvm::Value* element_address(llvm::IRBuilder<>& builder, Parameters parameters,
                             const loopnest::Access& operand, llvm::Value* base,
                             std::span<llvm::Value* const> index);

/// What elements lie apart: a constant, or an i64.
struct LaneStride {
  std::int64_t known = 0;
  llvm::Value* parameter = nullptr;

  LaneStride(std::int64_t elements) : known(elements) {}  // NOLINT(google-explicit-constructor)
  LaneStride(Parameters parameters, std::int64_t elements)
      : known(elements),
        parameter(loopnest::is_parameter(elements) ? parameters[loopnest::parameter_index(elements)]
                                                   : nullptr) {}
};

/// Register i of the result holds lane i of each of `rows`, which are as many as their lanes, a
/// power of two.
std::vector<llvm::Value*> transpose(llvm::IRBuilder<>& builder, std::vector<llvm::Value*> rows);

/// `width` elements as a register, the first at `address`, each `stride` elements after the one
/// before; with stride 0 they are one element.
llvm::Value* load_lanes(llvm::IRBuilder<>& builder, DType dtype, llvm::Value* address,
                        LaneStride stride, unsigned width);

/// With stride 0 the first lane is stored.
void store_lanes(llvm::IRBuilder<>& builder, DType dtype, llvm::Value* value, llvm::Value* address,
                 LaneStride stride, unsigned width);

/// The same for a block of lanes; `address` is that of its first lane. Preconditions: the stride is
/// not 0, and it is 1 where lanes lie in the block twice.
llvm::Value* load_block(llvm::IRBuilder<>& builder, const LoopOperand& operand,
                        llvm::Value* address, const LaneBlock& block);
void store_block(llvm::IRBuilder<>& builder, const LoopOperand& operand, llvm::Value* value,
                 llvm::Value* address, const LaneBlock& block);

}  // namespace scanloom::jit
