// Objects: sequences, optionals and strings, held by reference, and the calls that read or make
// them, which may allocate. Such a call borrows the arena tensors that it reads; a tensor taken out
// of a sequence is read in place. Invariant: the account of RunMemory counts every object that the
// run makes for as long as it lives.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/expected.h"
#include "plan/binding.h"
#include "runtime/progress.h"
#include "runtime/values.h"
#include "tensor/object.h"
#include "tensor/tensor.h"

namespace scanloom::runtime {

/// Not thread safe. Errors name the node.
class Objects {
 public:
  Objects(Values& values, RunMemory& memory, RunProgress& progress)
      : values_(values), memory_(memory), progress_(progress) {}

  /// Sets the inputs that are objects; `fed` is by input.
  void begin_run(std::span<const tensor::ObjectRef> fed);
  /// Drops references to feeds, items and rows that are no longer needed.
  void end_run();

  /// Runs object call `index`. Errors: those of the operator, limit_reached.
  Expected<void> run(std::uint32_t index);
  /// Wraps the tensor in an object that the account counts. Error: limit_reached.
  Expected<tensor::ObjectRef> counted(tensor::Tensor tensor);
  /// Stores a tensor at a spot that is not an object: a dynamic tensor refers to it, a static one
  /// receives a copy. Errors: invalid_argument (sizes other than those bound).
  Expected<void> store(const tensor::ObjectRef& value, const plan::Spot& spot, ir::NodeId node);

  /// Returns the present number of slices of a scanned value of any kind. Errors: invalid_argument
  /// (it has no such axis).
  Expected<std::int64_t> slice_count(const plan::BoundScanned& port, ir::NodeId node);
  /// Sets a scanned object to its slice of `step`. Error: limit_reached.
  Expected<void> set_slice(const plan::BoundScanned& port, std::int64_t step, ir::NodeId node);

 private:
  /// Returns the input of a call at the spot. `moved`: nothing reads the object again.
  Expected<tensor::ObjectRef> input_at(const plan::Spot& spot, const tensor::Operand& bound,
                                       bool moved);

  Values& values_;
  RunMemory& memory_;
  RunProgress& progress_;
  std::vector<tensor::ObjectRef> inputs_, outputs_;  // of the present call
};

}  // namespace scanloom::runtime
