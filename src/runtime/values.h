// Values: the locations of the values of a Run. A static value is a slot, an offset and a layout of
// the binding; a dynamic tensor is a slot and an entry of `dynamic_tensors` with its sizes; an
// object is a reference in `objects`. Invariant: a slot that execution has reached points to the
// value of the present step. Kernels read through slots, so that no use needs patching.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/expected.h"
#include "plan/binding.h"
#include "plan/plan.h"
#include "runtime/aligned_bytes.h"
#include "runtime/run_memory.h"
#include "tensor/call.h"
#include "tensor/object.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace scanloom::runtime {

/// A tensor whose sizes are known only at run time. Without storage it borrows memory, which
/// `lender`, if set, keeps alive.
struct DynamicTensor {
  std::shared_ptr<Storage> storage;
  std::shared_ptr<const void> lender;
  tensor::Shape dims, strides;
};

/// Not thread safe, except that several workers may copy one `main` at once.
struct Values {
  /// `bytes` is an arena of the binding's arena_bytes plus scratch_bytes.
  Values(const plan::Binding& bound, AlignedBytes bytes);
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

  [[nodiscard]] std::byte*& slot(plan::SlotId id) { return slots[static_cast<std::size_t>(id)]; }
  [[nodiscard]] std::byte* address(const plan::Spot& spot) { return slot(spot.slot) + spot.offset; }
  /// Precondition: spot.is_dynamic().
  [[nodiscard]] DynamicTensor& dynamic(const plan::Spot& spot) {
    return dynamic_tensors[static_cast<std::size_t>(spot.dynamic)];
  }
  /// Precondition: spot.is_object().
  [[nodiscard]] tensor::ObjectRef& object(const plan::Spot& spot) {
    return objects[static_cast<std::size_t>(spot.object)];
  }
  /// Returns an operand with the present sizes of the value.
  [[nodiscard]] tensor::Operand operand(const plan::Spot& spot);
  /// Returns the tensor at a spot; an undefined one if there is none.
  Expected<tensor::Tensor> tensor_at(const plan::Spot& spot);
  /// Returns the only element of a trip count or condition. Errors: invalid_argument (not exactly
  /// one element).
  template <class T>
  Expected<T> scalar(const plan::Spot& spot, ir::NodeId node);
  [[nodiscard]] std::string describe(ir::NodeId node) const {
    return plan::describe(*binding.plan, node);
  }
  /// Copies the values of `main` to this worker.
  void copy_from(const Values& main);

  const plan::Binding& binding;
  AlignedBytes arena;
  std::vector<std::byte*> slots;
  std::vector<DynamicTensor> dynamic_tensors;
  std::vector<tensor::ObjectRef> objects;  ///< by ObjectId; empty between runs
  std::vector<tensor::Operand> operands;   ///< of all calls, which point into this vector
};

template <class T>
Expected<T> Values::scalar(const plan::Spot& spot, ir::NodeId node) {
  // Known sizes have been checked when binding.
  if (spot.is_dynamic())
    if (const std::int64_t elements = dynamic(spot).dims.elements(); elements != 1)
      return fail(Code::invalid_argument,
                  "{}: its trip count or condition has {} elements, but 1 is needed",
                  describe(node), elements);
  // Reading a byte other than 0 or 1 as a bool is undefined behaviour.
  if constexpr (std::is_same_v<T, bool>) return *address(spot) != std::byte{0};
  T value;
  std::memcpy(&value, address(spot), sizeof value);
  return value;
}

}  // namespace scanloom::runtime
