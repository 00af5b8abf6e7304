#include "jit/body_builder.h"

#include <algorithm>

namespace scanloom::jit {

using loopnest::Access;
using loopnest::local_index;
using loopnest::SlotMove;
using loopnest::SlotSet;

llvm::BasicBlock* BodyBuilder::block(const char* name) {
  return llvm::BasicBlock::Create(builder_.getContext(), name, function_);
}

llvm::Value* BodyBuilder::place(llvm::Value* base, std::size_t bytes) {
  return add_bytes(builder_, base, builder_.getInt64(bytes));
}

llvm::Value* BodyBuilder::field(std::size_t offset) {
  return builder_.CreateLoad(builder_.getPtrTy(), place(function_->getArg(0), offset));
}

llvm::Value* BodyBuilder::number_field(std::size_t offset) {
  return builder_.CreateLoad(builder_.getInt64Ty(), place(function_->getArg(0), offset));
}

void BodyBuilder::set_field(std::size_t offset, llvm::Value* value) {
  builder_.CreateStore(value, place(function_->getArg(0), offset));
}

void BodyBuilder::reset_time_left() {
  builder_.CreateStore(number_field(offsetof(BodyFrame, time_left)), time_left_);
}

void BodyBuilder::fail_with(std::int64_t what) {
  set_field(offsetof(BodyFrame, failed_call), number(what));
  for (std::size_t level = 0; level < std::min(open_steps_.size(), kReportedLevels); ++level)
    set_field(offsetof(BodyFrame, failed_steps) + level * sizeof(std::int64_t), open_steps_[level]);
  // Not number(), which would take it for a parameter.
  builder_.CreateRet(builder_.getInt64(static_cast<std::uint64_t>(kBodyFault)));
}

llvm::Value* BodyBuilder::base_of(const Access& operand) {
  llvm::Value* const base =
      operand.slot < 0 ? target_.locals[local_index(operand.slot)] : pointer_of(operand.slot);
  return place(base, static_cast<std::size_t>(operand.offset));
}

llvm::Value* BodyBuilder::load_flag(const Access& operand) {
  return load_lanes(builder_, DType::boolean, base_of(operand), 0, 1);
}

llvm::Value* BodyBuilder::place_of(const SlotSet& set) {
  return add_bytes(builder_, pointer_of(set.from), number(set.offset));
}

void BodyBuilder::move_slots(const std::vector<SlotMove>& moves) {
  for (const SlotMove& move : moves)
    builder_.CreateStore(add_bytes(builder_, pointer_of(move.slot), number(move.bytes)),
                         slot(move.slot));
}

}  // namespace scanloom::jit
