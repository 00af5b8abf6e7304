// Objects: sequences, optionals and strings, held by reference, and the calls that read or make
// them, which may allocate. A tensor of the arena that such a call reads is lent to it; a tensor
// that comes out of a sequence is read where it is. Invariant: everything that the run makes is
// counted by the account of RunMemory for as long as it lives.
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

  /// `fed`: the inputs that are objects, by input.
  void begin_run(std::span<const tensor::ObjectRef> fed);
  /// Drops references to feeds, items and rows that nothing needs any more.
  void end_run();

  /// Runs object call `index`. Errors: those of the operator, limit_reached.
  Expected<void> run(std::uint32_t index);
  /// Returns a counted object of the tensor. Error: limit_reached.
  Expected<tensor::ObjectRef> counted(tensor::Tensor tensor);
  /// Makes a tensor the value of a spot that is no object: a dynamic tensor refers to it, a static
  /// one is written. Errors: invalid_argument (other sizes than those bound).
  Expected<void> store(const tensor::ObjectRef& value, const plan::Spot& spot, ir::NodeId node);

  /// Returns how many slices a scanned value, of any kind, has now. Errors: invalid_argument (it
  /// has no such axis).
  Expected<std::int64_t> slice_count(const plan::BoundScanned& port, ir::NodeId node);
  /// Makes a scanned object the slice of that step. Error: limit_reached.
  Expected<void> set_slice(const plan::BoundScanned& port, std::int64_t step, ir::NodeId node);

 private:
  /// Returns what a call reads at the spot. `moved`: nothing reads the object again.
  Expected<tensor::ObjectRef> input_at(const plan::Spot& spot, const tensor::Operand& bound,
                                       bool moved);

  Values& values_;
  RunMemory& memory_;
  RunProgress& progress_;
  std::vector<tensor::ObjectRef> inputs_, outputs_;  // of the present call
};

}  // namespace scanloom::runtime
