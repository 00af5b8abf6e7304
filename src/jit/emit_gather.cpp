#include "jit/emit_gather.h"

#include <algorithm>

#include "jit/emit_memory.h"
#include "jit/emit_program.h"

namespace scanloom::jit {

using loopnest::Access;
using loopnest::DynamicIndex;

namespace {

/// Whether both are the same index of axes of one size, whatever they move by.
bool is_same_index(const DynamicIndex& a, const DynamicIndex& b) {
  return a.slot == b.slot && a.offset == b.offset && a.dtype == b.dtype && a.size == b.size &&
         a.strides == b.strides;
}

/// Whether all lanes share their positions.
bool are_shared(const std::vector<std::pair<llvm::Value*, std::int64_t>>& moves) {
  return std::ranges::none_of(moves,
                              [](const auto& move) { return move.first->getType()->isVectorTy(); });
}

}  // namespace

std::int64_t GatherScatter::lane_stride(const Access& operand) const {
  return jit::lane_stride(nest_, operand);
}

llvm::Value* GatherScatter::address(const Access& operand, Value base,
                                    std::span<const Value> index) {
  return element_address(builder_, target_.parameters, operand, base, index);
}

llvm::Value* GatherScatter::load(const Access& operand, Value base, std::span<const Value> index,
                                 unsigned width) {
  const Moves moves = moves_of(operand, index, width);
  Value const first = address(operand, base, index);
  if (are_shared(moves))
    return load_lanes(builder_, operand.dtype, moved(first, moves),
                      {target_.parameters, lane_stride(operand)}, width);
  // Bytes are joined before they become booleans.
  const DType loaded = operand.dtype == DType::boolean ? DType::u8 : operand.dtype;
  Value value = llvm::PoisonValue::get(memory_type(builder_.getContext(), loaded, width));
  for (unsigned i = 0; i < width; ++i)
    value = builder_.CreateInsertElement(
        value, load_lanes(builder_, loaded, lane_address(operand, first, moves, i), 0, 1), i);
  if (loaded == operand.dtype) return value;
  return builder_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
}

void GatherScatter::store(const Access& operand, Value base, std::span<const Value> index,
                          Value value, unsigned width) {
  const Moves moves = moves_of(operand, index, width);
  Value const first = address(operand, base, index);
  const std::int64_t stride = lane_stride(operand);
  // Lanes without a stride all write to one address.
  if (are_shared(moves) && (stride != 0 || width == 1)) {
    store_updated(operand, moved(first, moves), value, stride, width);
  } else {
    for (unsigned i = 0; i < width; ++i)
      store_updated(operand, lane_address(operand, first, moves, i),
                    builder_.CreateExtractElement(value, i), 0, 1);
  }
}

void GatherScatter::store_updated(const Access& operand, Value at, Value value, std::int64_t stride,
                                  unsigned width) {
  const LaneStride apart{target_.parameters, stride};
  if (!nest_.update.instrs.empty()) {
    const std::vector<Value> inputs{load_lanes(builder_, operand.dtype, at, apart, width), value};
    const std::vector<Value> registers = emit_program(builder_, nest_.update, inputs, width);
    value = registers[static_cast<std::size_t>(nest_.update.results[0])];
  }
  store_lanes(builder_, operand.dtype, value, at, apart, width);
}

GatherScatter::Moves GatherScatter::moves_of(const Access& operand, std::span<const Value> index,
                                             unsigned width) {
  Moves moves;
  for (const DynamicIndex& picked : operand.indices)
    moves.emplace_back(positions_of(picked, index, width), picked.bytes);
  return moves;
}

/// Returns the address of one lane's element; `first` is that of the first lane before indices.
llvm::Value* GatherScatter::lane_address(const Access& operand, Value first, const Moves& moves,
                                         unsigned lane) {
  if (lane == 0 || lane_stride(operand) == 0) return moved(first, moves, lane);
  Value const stride =
      builder_.CreateMul(number_of(builder_, target_.parameters, lane_stride(operand)),
                         builder_.getInt64(dtype_bytes(operand.dtype)));
  return moved(add_bytes(builder_, first, builder_.CreateMul(stride, builder_.getInt64(lane))),
               moves, lane);
}

llvm::Value* GatherScatter::moved(Value at, const Moves& moves, unsigned lane) {
  for (const auto& [positions, bytes] : moves) {
    Value const position = positions->getType()->isVectorTy()
                               ? builder_.CreateExtractElement(positions, lane)
                               : positions;
    at = add_bytes(builder_, at,
                   builder_.CreateMul(position, number_of(builder_, target_.parameters, bytes)));
  }
  return at;
}

/// Returns the position on the axis that each lane's index selects, as i64; a scalar if all lanes
/// share it. Leaves the nest if one is out of range.
llvm::Value* GatherScatter::positions_of(const DynamicIndex& picked, std::span<const Value> index,
                                         unsigned width) {
  for (const auto& [known, positions] : positions_)
    if (is_same_index(*known, picked)) return positions;
  const Access operand{picked.slot, picked.dtype, picked.offset, picked.strides};
  const std::int64_t stride = lane_stride(operand);
  const unsigned lanes = stride == 0 ? 1 : width;
  Value const given = load_lanes(builder_, picked.dtype,
                                 address(operand, base_address(builder_, target_, operand), index),
                                 {target_.parameters, stride}, lanes);
  llvm::Type* const i64 = register_type(builder_.getContext(), DType::i64, lanes);
  Value const wide = builder_.CreateSExt(given, i64);
  Value size = number_of(builder_, target_.parameters, picked.size);
  Value most = builder_.CreateSub(size, builder_.getInt64(1));
  if (lanes > 1) {
    size = builder_.CreateVectorSplat(lanes, size);
    most = builder_.CreateVectorSplat(lanes, most);
  }
  Value const below = builder_.CreateICmpSLT(wide, llvm::Constant::getNullValue(i64));
  Value const positions = builder_.CreateSelect(below, builder_.CreateAdd(wide, size), wide);
  // The sign bit of either is set if it is out of range.
  Value bad = builder_.CreateOr(positions, builder_.CreateSub(most, positions));
  if (lanes > 1) bad = builder_.CreateOrReduce(bad);
  leave_if(builder_.CreateICmpSLT(bad, builder_.getInt64(0)));
  positions_.emplace_back(&picked, positions);
  return positions;
}

void GatherScatter::leave_if(Value bad) {
  auto* const inside = llvm::BasicBlock::Create(builder_.getContext(), "inside",
                                                builder_.GetInsertBlock()->getParent());
  builder_.CreateCondBr(bad, target_.outside, inside);
  builder_.SetInsertPoint(inside);
}

}  // namespace scanloom::jit
