#include "jit/nest_memory.h"

#include "jit/emit_memory.h"

namespace scanloom::jit {

using loopnest::Access;
using loopnest::Nest;
using loopnest::Reduction;

namespace {

/// Returns the element's offset in the code's own memory, if it is known.
std::optional<std::int64_t> known_offset(const Access& operand,
                                         std::span<llvm::Value* const> index) {
  if (operand.slot >= 0) return std::nullopt;
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(operand.dtype));
  std::int64_t offset = operand.offset;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const auto* const at = llvm::dyn_cast<llvm::ConstantInt>(index[i]);
    if (at == nullptr) return std::nullopt;
    offset += at->getSExtValue() * operand.strides[i] * bytes;
  }
  return offset;
}

}  // namespace

NestMemory::NestMemory(llvm::IRBuilder<>& builder, const Nest& nest, NestTarget& target,
                       bool in_loop)
    : builder_(builder),
      nest_(nest),
      target_(target),
      indexed_(builder, nest, target),
      in_loop_(in_loop) {
  const auto bases_of = [&](const std::vector<Access>& operands) {
    std::vector<Value> bases;
    for (const Access& operand : operands) bases.push_back(base_address(builder, target, operand));
    return bases;
  };
  reads_ = bases_of(nest.reads);
  writes_ = bases_of(nest.writes);
  for (const Reduction& reduction : nest.reductions)
    reductions_.push_back(bases_of(reduction.reads));
  if (in_loop_) forget_writes();
}

void NestMemory::forget_writes() {
  for (const Access& write : nest_.writes) target_.known.forget(write.slot);
}

llvm::Value* NestMemory::address(const Access& operand, Value base, std::span<const Value> index) {
  return element_address(builder_, target_.parameters, operand, base, index);
}

/// Returns lanes that registers hold; nullptr if they do not.
llvm::Value* NestMemory::load_known(const Access& operand, std::span<const Value> index,
                                    unsigned width) {
  const std::int64_t stride = lane_stride(nest_, operand);
  const auto offset = known_offset(operand, index);
  if (!offset || stride > 1 || stride < 0) return nullptr;
  const unsigned lanes = stride == 0 ? 1 : width;
  Value const known = target_.known.load(builder_, operand.slot, operand.dtype, *offset, lanes);
  if (known == nullptr || lanes == width) return known;
  return builder_.CreateVectorSplat(width, known);
}

llvm::Value* NestMemory::load(std::size_t read, std::span<const Value> index, unsigned width) {
  const Access& operand = nest_.reads[read];
  if (!operand.indices.empty()) return indexed_.load(operand, reads_[read], index, width);
  if (Value const known = load_known(operand, index, width)) return known;
  return load_lanes(builder_, operand.dtype, address(operand, reads_[read], index),
                    {target_.parameters, lane_stride(nest_, operand)}, width);
}

void NestMemory::store(std::size_t write, std::span<const Value> index, Value value,
                       unsigned width) {
  const Access& operand = nest_.writes[write];
  if (!operand.indices.empty()) {
    indexed_.store(operand, writes_[write], index, value, width);
    target_.known.forget(operand.slot);
    return;
  }
  const std::int64_t stride = lane_stride(nest_, operand);
  store_lanes(builder_, operand.dtype, value, address(operand, writes_[write], index),
              {target_.parameters, stride}, width);
  if (operand.slot >= 0) return;
  const auto offset = known_offset(operand, index);
  if (!in_loop_ && offset && (width == 1 || stride == 1))
    target_.known.store(operand.slot, operand.dtype, *offset, width, value);
  else
    target_.known.forget(operand.slot);
}

}  // namespace scanloom::jit
