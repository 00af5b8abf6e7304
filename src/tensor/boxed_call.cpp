#include "tensor/boxed_call.h"

#include <utility>

namespace scanloom::tensor {

Expected<BoxRef> BoxedCall::take(std::size_t i) const {
  BoxRef value = std::move(inputs[i]);
  if (value->is_tensor() && value->tensor().owner() == nullptr) {
    const Tensor& lent = value->tensor();
    SCANLOOM_CHECK_OK(memory.check(bytes_with_text(lent)));
    SCANLOOM_TRY(Tensor copy, Tensor::copy_of(lent.dtype(), lent.shape(), lent.data()));
    return box(std::move(copy));
  }
  SCANLOOM_CHECK_OK(count_own(value));
  return value;
}

/// A box that others refer to as well is theirs: who made it has counted it.
Expected<void> BoxedCall::count_own(const BoxRef& value) const {
  if (!value.unique()) return {};
  return memory.count(*value);
}

BoxRef BoxedCall::take_unique(std::size_t i) const {
  BoxRef value = std::move(inputs[i]);
  value.make_unique();
  return value;
}

Expected<BoxRef> BoxedCall::box(Tensor tensor) const {
  SCANLOOM_TRY(Tensor counted, memory.count(std::move(tensor)));
  BoxRef value = BoxRef::of(std::move(counted));
  SCANLOOM_CHECK_OK(memory.count(*value));
  return value;
}

Expected<void> BoxedCall::give(std::size_t i, Tensor tensor) const {
  SCANLOOM_TRY(outputs[i], box(std::move(tensor)));
  return {};
}

Expected<void> BoxedCall::give(std::size_t i, BoxRef value) const {
  SCANLOOM_CHECK_OK(count_own(value));
  outputs[i] = std::move(value);
  return {};
}

}  // namespace scanloom::tensor
