// Results: converts objects and tensors to the values that users see.
#include "api/impl.h"

namespace scanloom {

ValueKind value_kind(tensor::ObjectKind kind) {
  switch (kind) {
    case tensor::ObjectKind::tensor:
      return ValueKind::tensor;
    case tensor::ObjectKind::sequence:
      return ValueKind::sequence;
    case tensor::ObjectKind::map:
      return ValueKind::map;
    case tensor::ObjectKind::optional:
      break;
  }
  return ValueKind::optional;
}

Expected<Value> to_value(const tensor::Tensor& tensor) {
  const tensor::Shape& shape = tensor.shape();
  tensor::Tensor own = tensor;
  // A result may be a feed, which belongs to the caller.
  if (!own.owner()) {
    SCANLOOM_TRY(own, tensor::Tensor::copy_of(tensor.dtype(), shape, tensor.data()));
  }
  // Points to the elements and shares ownership with the tensor.
  return Value(own.dtype(), {shape.begin(), shape.end()},
               std::shared_ptr<const void>(own.owner(), own.data()));
}

// Recursion is as deep as the output's type, at most eight levels.
Expected<Value> to_value(const tensor::ObjectRef& object) {
  if (object->is_tensor()) return to_value(object->tensor());
  std::vector<Value> items;
  items.reserve(object->items().size());
  for (const tensor::ObjectRef& item : object->items()) {
    SCANLOOM_TRY(Value value, to_value(item));
    items.push_back(std::move(value));
  }
  return Value(value_kind(object->kind()), object->dtype(), std::move(items));
}

}  // namespace scanloom
