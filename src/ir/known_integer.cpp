#include "ir/known_integer.h"

#include "tensor/tensor.h"

namespace scanloom::ir {

std::optional<std::int64_t> known_integer(const Inference& inference, ValueId id) {
  const auto& known = inference.known[id.index];
  if (!known) return std::nullopt;
  if (known->tensor) {
    const auto integers = tensor::to_integers(*known->tensor);
    if (!integers || integers->size() != 1) return std::nullopt;
    return integers->front();
  }
  if (known->integers && known->integers->size() == 1 && known->integers->front().is_constant())
    return known->integers->front().value();
  return std::nullopt;
}

}  // namespace scanloom::ir
