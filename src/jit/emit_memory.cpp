#include "jit/emit_memory.h"

#include <numeric>

#include "jit/emit_program.h"

namespace scanloom::jit {
namespace {

llvm::Value* lane_address(llvm::IRBuilder<>& builder, DType dtype, llvm::Value* address,
                          LaneStride stride, unsigned lane) {
  const std::int64_t bytes = lane * static_cast<std::int64_t>(dtype_bytes(dtype));
  if (stride.told != nullptr)
    return add_bytes(
        builder, address,
        builder.CreateMul(stride.told, builder.getInt64(static_cast<std::uint64_t>(bytes))));
  return add_bytes(builder, address,
                   builder.getInt64(static_cast<std::uint64_t>(bytes * stride.known)));
}

/// Where the second half of a block begins whose lanes do not fill it.
llvm::Value* second_half(llvm::IRBuilder<>& builder, DType dtype, llvm::Value* address,
                         const LaneBlock& block) {
  return lane_address(builder, dtype, address, 1, block.lanes - block.width / 2);
}

}  // namespace

llvm::SmallVector<int> lanes_from(unsigned first, unsigned count) {
  llvm::SmallVector<int> lanes(count);
  std::iota(lanes.begin(), lanes.end(), static_cast<int>(first));
  return lanes;
}

llvm::Value* add_bytes(llvm::IRBuilder<>& builder, llvm::Value* base, llvm::Value* bytes) {
  return builder.CreateGEP(builder.getInt8Ty(), base, bytes);
}

llvm::Value* number_of(llvm::IRBuilder<>& builder, ToldNumbers told, std::int64_t number) {
  return is_told(number) ? told[told_index(number)]
                         : builder.getInt64(static_cast<std::uint64_t>(number));
}

llvm::Value* element_address(llvm::IRBuilder<>& builder, ToldNumbers told,
                             const NestOperand& operand, llvm::Value* base,
                             std::span<llvm::Value* const> index) {
  llvm::Value* const element = builder.getInt64(dtype_bytes(operand.dtype));
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (operand.strides[i] == 0) continue;
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(index[i]);
    if (constant != nullptr && constant->isZero()) continue;
    llvm::Value* const factor =
        builder.CreateMul(number_of(builder, told, operand.strides[i]), element);
    base = add_bytes(builder, base, builder.CreateMul(index[i], factor));
  }
  return base;
}

std::vector<llvm::Value*> transpose(llvm::IRBuilder<>& builder, std::vector<llvm::Value*> rows) {
  // As often as halving leads to one: rows i and i + half become their lanes in turns.
  const std::size_t count = rows.size(), half = count / 2;
  std::vector<int> low, high;
  for (std::size_t lane = 0; lane < count; ++lane) {
    low.push_back(static_cast<int>(lane / 2 + (lane % 2) * count));
    high.push_back(low.back() + static_cast<int>(half));
  }
  for (std::size_t left = count; left > 1; left /= 2) {
    std::vector<llvm::Value*> next;
    for (std::size_t i = 0; i < half; ++i) {
      next.push_back(builder.CreateShuffleVector(rows[i], rows[i + half], low));
      next.push_back(builder.CreateShuffleVector(rows[i], rows[i + half], high));
    }
    rows = std::move(next);
  }
  return rows;
}

llvm::Value* load_lanes(llvm::IRBuilder<>& builder, DType dtype, llvm::Value* address,
                        LaneStride stride, unsigned width) {
  const llvm::Align align(dtype_bytes(dtype));
  llvm::LLVMContext& context = builder.getContext();
  llvm::Type* const scalar = memory_type(context, dtype, 1);
  llvm::Value* value = nullptr;
  if (width == 1 || stride.known == 0) {
    value = builder.CreateAlignedLoad(scalar, address, align);
    if (width > 1) value = builder.CreateVectorSplat(width, value);
  } else if (stride.known == 1) {
    value = builder.CreateAlignedLoad(memory_type(context, dtype, width), address, align);
  } else {
    value = llvm::PoisonValue::get(memory_type(context, dtype, width));
    for (unsigned i = 0; i < width; ++i) {
      llvm::Value* const lane = lane_address(builder, dtype, address, stride, i);
      value = builder.CreateInsertElement(value, builder.CreateAlignedLoad(scalar, lane, align), i);
    }
  }
  if (dtype != DType::boolean) return value;
  return builder.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
}

void store_lanes(llvm::IRBuilder<>& builder, DType dtype, llvm::Value* value, llvm::Value* address,
                 LaneStride stride, unsigned width) {
  const llvm::Align align(dtype_bytes(dtype));
  if (dtype == DType::boolean)
    value = builder.CreateZExt(value, memory_type(builder.getContext(), dtype, width));
  if (width == 1 || stride.known == 1) {
    builder.CreateAlignedStore(value, address, align);
  } else if (stride.known == 0) {
    builder.CreateAlignedStore(builder.CreateExtractElement(value, std::uint64_t{0}), address,
                               align);
  } else {
    for (unsigned i = 0; i < width; ++i)
      builder.CreateAlignedStore(builder.CreateExtractElement(value, i),
                                 lane_address(builder, dtype, address, stride, i), align);
  }
}

llvm::Value* load_block(llvm::IRBuilder<>& builder, const LoopOperand& operand,
                        llvm::Value* address, const LaneBlock& block) {
  const DType dtype = operand.dtype;
  if (block.lanes == block.width)
    return load_lanes(builder, dtype, address, operand.lane_stride, block.width);
  // Bytes are joined before they become booleans, of which half vectors are no registers.
  const DType loaded = dtype == DType::boolean ? DType::u8 : dtype;
  const unsigned half = block.width / 2;
  llvm::Value* const low = load_lanes(builder, loaded, address, 1, half);
  llvm::Value* const high =
      load_lanes(builder, loaded, second_half(builder, dtype, address, block), 1, half);
  llvm::Value* const both = builder.CreateShuffleVector(low, high, lanes_from(0, block.width));
  return loaded == dtype
             ? both
             : builder.CreateICmpNE(both, llvm::Constant::getNullValue(both->getType()));
}

void store_block(llvm::IRBuilder<>& builder, const LoopOperand& operand, llvm::Value* value,
                 llvm::Value* address, const LaneBlock& block) {
  const DType dtype = operand.dtype;
  if (block.lanes == block.width)
    return store_lanes(builder, dtype, value, address, operand.lane_stride, block.width);
  DType stored = dtype;
  if (dtype == DType::boolean) {
    stored = DType::u8;
    value = builder.CreateZExt(value, memory_type(builder.getContext(), stored, block.width));
  }
  const unsigned half = block.width / 2;
  const auto part = [&](unsigned first) {
    return builder.CreateShuffleVector(value, lanes_from(first, half));
  };
  store_lanes(builder, stored, part(0), address, 1, half);
  store_lanes(builder, stored, part(half), second_half(builder, dtype, address, block), 1, half);
}

}  // namespace scanloom::jit
