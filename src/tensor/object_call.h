// ObjectCall: the calling convention of operators on objects (sequences, optionals, strings).
// Such calls may allocate; what they allocate counts against the run's memory.
#pragma once

#include <span>

#include "base/expected.h"
#include "tensor/attr.h"
#include "tensor/call.h"
#include "tensor/memory_account.h"
#include "tensor/object.h"

namespace scanloom::tensor {

struct ObjectCall {
  /// Null: an absent optional input. The operator may move from inputs: a value that is not read
  /// again comes as the only reference to its object and may be changed in place.
  std::span<ObjectRef> inputs;
  std::span<ObjectRef> outputs;  ///< null before the call, all set after it
  std::span<const Attr> attrs;
  MemoryAccount& memory;
  SampleCounter* samples = nullptr;  ///< for random operators

  [[nodiscard]] bool has(std::size_t i) const { return i < inputs.size() && inputs[i]; }
  /// Precondition: input i is a tensor.
  [[nodiscard]] const Tensor& tensor(std::size_t i) const { return inputs[i]->tensor(); }
  /// Input i, to be stored in another value; copies memory that is only lent for the call.
  Expected<ObjectRef> take(std::size_t i) const;
  /// Input i, a sequence or optional, to be changed; copies it only if it is also read elsewhere.
  ObjectRef take_unique(std::size_t i) const;

  /// Sets output i to a new tensor or value, and counts it.
  Expected<void> give(std::size_t i, Tensor tensor) const;
  Expected<void> give(std::size_t i, ObjectRef value) const;
  /// An object with the tensor, both counted, to be an item of a sequence.
  Expected<ObjectRef> object(Tensor tensor) const;

 private:
  Expected<void> count_own(const ObjectRef& value) const;
};

using ObjectFn = Expected<void> (*)(const ObjectCall& call);

}  // namespace scanloom::tensor
