#include "tensor/object_call.h"

#include <utility>

namespace scanloom::tensor {

Expected<ObjectRef> ObjectCall::take(std::size_t i) const {
  ObjectRef value = std::move(inputs[i]);
  if (value->is_tensor() && value->tensor().owner() == nullptr) {
    const Tensor& lent = value->tensor();
    SCANLOOM_CHECK_OK(memory.check(bytes_with_text(lent)));
    SCANLOOM_TRY(Tensor copy, Tensor::copy_of(lent.dtype(), lent.shape(), lent.data()));
    return object(std::move(copy));
  }
  SCANLOOM_CHECK_OK(count_own(value));
  return value;
}

/// Counts an object unless it is shared: then its creator has counted it.
Expected<void> ObjectCall::count_own(const ObjectRef& value) const {
  if (!value.unique()) return {};
  return memory.count(*value);
}

ObjectRef ObjectCall::take_unique(std::size_t i) const {
  ObjectRef value = std::move(inputs[i]);
  value.make_unique();
  return value;
}

Expected<ObjectRef> ObjectCall::object(Tensor tensor) const {
  SCANLOOM_TRY(Tensor counted, memory.count(std::move(tensor)));
  ObjectRef value = ObjectRef::of(std::move(counted));
  SCANLOOM_CHECK_OK(memory.count(*value));
  return value;
}

Expected<void> ObjectCall::give(std::size_t i, Tensor tensor) const {
  SCANLOOM_TRY(outputs[i], object(std::move(tensor)));
  return {};
}

Expected<void> ObjectCall::give(std::size_t i, ObjectRef value) const {
  SCANLOOM_CHECK_OK(count_own(value));
  outputs[i] = std::move(value);
  return {};
}

}  // namespace scanloom::tensor
