#include "jit/nest_target.h"

#include "jit/emit_memory.h"

namespace scanloom::jit {

using loopnest::Access;
using loopnest::Nest;

llvm::Value* pointer_of(llvm::IRBuilder<>& builder, const NestTarget& target, std::int32_t slot) {
  const auto fixed = target.fixed.find(slot);
  if (fixed != target.fixed.end()) return fixed->second;
  return builder.CreateLoad(builder.getPtrTy(), target.slots.at(slot));
}

llvm::Value* base_address(llvm::IRBuilder<>& builder, const NestTarget& target,
                          const Access& operand) {
  llvm::Value* const slot = operand.slot < 0 ? target.locals[loopnest::local_index(operand.slot)]
                                             : pointer_of(builder, target, operand.slot);
  if (operand.offset == 0) return slot;
  return add_bytes(builder, slot, builder.getInt64(static_cast<std::uint64_t>(operand.offset)));
}

std::int64_t lane_stride(const Nest& nest, const Access& operand) {
  return nest.sizes.empty() ? 0 : operand.strides[nest.sizes.size() - 1];
}

}  // namespace scanloom::jit
