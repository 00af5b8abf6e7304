#include "runtime/values.h"

#include <functional>
#include <utility>

#include "plan/bind/dynamic.h"

namespace scanloom::runtime {

Values::Values(const plan::Binding& bound, AlignedBytes bytes)
    : binding(bound), arena(std::move(bytes)) {
  slots.assign(bound.slots.size(), nullptr);
  for (std::size_t i = 0; i < bound.slots.size(); ++i) {
    const plan::SlotInit& init = bound.slots[i];
    if (init.kind == plan::SlotInit::Kind::arena) slots[i] = arena.get() + init.offset;
    if (init.kind == plan::SlotInit::Kind::constant)
      slots[i] = const_cast<std::byte*>(init.constant);
  }
  dynamic_tensors.resize(static_cast<std::size_t>(bound.dynamic_count));
  operands.reserve(bound.operands.size());
  for (const plan::Spot& spot : bound.operands) operands.push_back(operand(spot));
}

tensor::Operand Values::operand(const plan::Spot& spot) {
  tensor::Operand operand;
  if (spot.slot == plan::kNone) return operand;
  operand.slot = &slot(spot.slot);
  operand.offset = spot.offset;
  operand.dtype = spot.dtype;
  const tensor::Shape* dims = nullptr;
  const tensor::Shape* strides = nullptr;
  if (spot.is_dynamic()) {
    dims = &dynamic(spot).dims;
    strides = &dynamic(spot).strides;
    operand.contiguous = tensor::is_contiguous(dims->dims(), strides->dims());
  } else {
    const plan::Layout& layout = binding.layouts[static_cast<std::size_t>(spot.layout)];
    dims = &layout.dims;
    strides = &layout.strides;
    operand.contiguous = layout.contiguous;
  }
  operand.dims = dims->data();
  operand.strides = strides->data();
  operand.rank = dims->rank();
  return operand;
}

Expected<tensor::Tensor> Values::tensor_at(const plan::Spot& spot) {
  if (!spot.present()) return tensor::Tensor();
  if (!spot.is_object()) return plan::as_tensor(operand(spot));
  const tensor::ObjectRef& value = object(spot);
  return value && value->is_tensor() ? value->tensor() : tensor::Tensor();
}

void Values::copy_from(const Values& main) {
  const std::byte* const first = main.arena.get();
  const std::byte* const last = first + binding.arena_bytes + binding.scratch_bytes;
  std::memcpy(arena.get(), first, static_cast<std::size_t>(binding.arena_bytes));
  for (std::size_t i = 0; i < slots.size(); ++i) {
    std::byte* const slot = main.slots[i];
    const bool in_arena = std::less_equal<>()(first, slot) && std::less_equal<>()(slot, last);
    slots[i] = in_arena ? arena.get() + (slot - first) : slot;
  }
  dynamic_tensors = main.dynamic_tensors;
  objects = main.objects;
}

}  // namespace scanloom::runtime
