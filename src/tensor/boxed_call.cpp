#include "tensor/boxed_call.h"

#include <utility>

namespace scanloom::tensor {

Expected<BoxRef> BoxedCall::take(std::size_t i) const {
  BoxRef value = std::move(inputs[i]);
  if (value->is_tensor() && value->tensor().owner() == nullptr) {
    const Tensor& lent = value->tensor();
    SCANLOOM_CHECK_OK(memory.check(static_cast<std::int64_t>(lent.bytes())));
    SCANLOOM_TRY(Tensor copy, Tensor::copy_of(lent.dtype(), lent.shape(), lent.data()));
    return box(std::move(copy));
  }
  SCANLOOM_CHECK_OK(memory.count(*value));
  return value;
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
  SCANLOOM_TRY(Tensor counted, memory.count(std::move(tensor)));
  outputs[i] = BoxRef::of(std::move(counted));
  return {};
}

Expected<void> BoxedCall::give(std::size_t i, BoxRef value) const {
  SCANLOOM_CHECK_OK(memory.count(*value));
  outputs[i] = std::move(value);
  return {};
}

}  // namespace scanloom::tensor
