#include "jit/emit_memory.h"

#include <algorithm>
#include <numeric>

#include "jit/emit_program.h"

namespace scanloom::jit {

using loopnest::Access;
using loopnest::is_parameter;
using loopnest::parameter_index;

namespace {

llvm::Value* lane_address(llvm::IRBuilder<>& builder, DType dtype, llvm::Value* address,
                          LaneStride stride, unsigned lane) {
  const std::int64_t bytes = lane * static_cast<std::int64_t>(dtype_bytes(dtype));
  if (stride.parameter != nullptr)
    return add_bytes(
        builder, address,
        builder.CreateMul(stride.parameter, builder.getInt64(static_cast<std::uint64_t>(bytes))));
  return add_bytes(builder, address,
                   builder.getInt64(static_cast<std::uint64_t>(bytes * stride.known)));
}

/// Returns where the second half of a block begins whose lanes do not fill it.
llvm::Value* second_half(llvm::IRBuilder<>& builder, DType dtype, llvm::Value* address,
                         const LaneBlock& block) {
  return lane_address(builder, dtype, address, 1, block.lanes - block.width / 2);
}

/// Shuffles within segments of this many bits, and shuffles of whole segments, are one instruction.
constexpr unsigned kSegmentBits = 128;

/// Exchanges the odd blocks of `first` with the even blocks of `second`, for blocks of `size`
/// lanes.
void exchange_blocks(llvm::IRBuilder<>& builder, llvm::Value*& first, llvm::Value*& second,
                     unsigned size) {
  const unsigned count = llvm::cast<llvm::FixedVectorType>(first->getType())->getNumElements();
  std::vector<int> even, odd;
  for (unsigned lane = 0; lane < count; ++lane) {
    const bool moves = (lane & size) != 0;
    even.push_back(static_cast<int>(moves ? count + lane - size : lane));
    odd.push_back(static_cast<int>(moves ? count + lane : lane + size));
  }
  llvm::Value* const with_even = builder.CreateShuffleVector(first, second, even);
  second = builder.CreateShuffleVector(first, second, odd);
  first = with_even;
}

struct Zip {
  unsigned segment;  ///< lanes
  unsigned unit;     ///< lanes that stay together
  bool upper;        ///< take the upper halves of segments, otherwise the lower ones
};

/// Interleaves, in each segment, the units of one half of a and b.
llvm::Value* zipped(llvm::IRBuilder<>& builder, llvm::Value* a, llvm::Value* b, Zip zip) {
  const unsigned count = llvm::cast<llvm::FixedVectorType>(a->getType())->getNumElements();
  std::vector<int> mask;
  for (unsigned lane = 0; lane < count; ++lane) {
    const unsigned position = lane % zip.segment, unit = position / zip.unit;
    const unsigned from = lane - position + unit / 2 * zip.unit + position % zip.unit +
                          (zip.upper ? zip.segment / 2 : 0);
    mask.push_back(static_cast<int>(unit % 2 == 0 ? from : count + from));
  }
  return builder.CreateShuffleVector(a, b, mask);
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

llvm::Value* number_of(llvm::IRBuilder<>& builder, Parameters parameters, std::int64_t number) {
  return is_parameter(number) ? parameters[parameter_index(number)]
                              : builder.getInt64(static_cast<std::uint64_t>(number));
}

llvm::Value* element_address(llvm::IRBuilder<>& builder, Parameters parameters,
                             const Access& operand, llvm::Value* base,
                             std::span<llvm::Value* const> index) {
  llvm::Value* const element = builder.getInt64(dtype_bytes(operand.dtype));
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (operand.strides[i] == 0) continue;
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(index[i]);
    if (constant != nullptr && constant->isZero()) continue;
    llvm::Value* const factor =
        builder.CreateMul(number_of(builder, parameters, operand.strides[i]), element);
    base = add_bytes(builder, base, builder.CreateMul(index[i], factor));
  }
  return base;
}

std::vector<llvm::Value*> transpose(llvm::IRBuilder<>& builder, std::vector<llvm::Value*> rows) {
  const auto count = static_cast<unsigned>(rows.size());
  const unsigned held = std::min(count, kSegmentBits / rows[0]->getType()->getScalarSizeInBits());
  for (unsigned apart = held; apart < count; apart *= 2)
    for (unsigned i = 0; i < count; ++i)
      if ((i & apart) == 0) exchange_blocks(builder, rows[i], rows[i + apart], apart);
  // Each register holds the elements of `unit` rows in some columns, in every segment; in the end,
  // those of all rows in one column. Registers are first ordered by rows, then by columns.
  for (unsigned unit = 1; unit < held; unit *= 2) {
    std::vector<llvm::Value*> next;
    for (unsigned group = 0; group < count; group += 2 * unit)
      for (unsigned i = group; i < group + unit; ++i)
        for (const bool upper : {false, true})
          next.push_back(zipped(builder, rows[i], rows[i + unit], {held, unit, upper}));
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
  // Bytes are joined before they become booleans: half a vector of booleans is not a register.
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
