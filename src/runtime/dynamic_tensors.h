// DynamicTensors: reserves, copies and slices tensors whose sizes are known only at run time.
// Memory grows geometrically. A copy shares storage until one of the two tensors is written.
// Invariant: a tensor that is being written owns its storage alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/expected.h"
#include "plan/binding.h"
#include "runtime/run_memory.h"
#include "runtime/values.h"

namespace scanloom::runtime {

/// Not thread safe.
class DynamicTensors {
 public:
  DynamicTensors(Values& values, RunMemory& memory) : values_(values), memory_(memory) {}

  /// `number` counts the runs of this Run; a worker has the number of the run it belongs to.
  void begin_run(std::uint64_t number) { run_ = number; }
  [[nodiscard]] std::uint64_t run_number() const { return run_; }

  /// Gives the tensor these sizes, and memory for them that it owns alone. Discards its elements.
  /// Reserves `wish` bytes, which will be needed soon, if the budget allows. Errors:
  /// limit_reached, out_of_memory.
  Expected<void> reserve(const plan::Spot& spot, const tensor::Shape& dims, ir::NodeId node,
                         std::int64_t wish = 0);
  /// Gives `to`, a value of any kind, the value of `from`. `moved`: nothing reads `from` again.
  /// Errors: those of reserve().
  Expected<void> assign(const plan::Spot& from, const plan::Spot& to, ir::NodeId node,
                        bool moved = false);
  /// Returns the address of the first slice of a scanned value, after making its slices contiguous.
  /// Errors: those of reserve().
  Expected<std::byte*> first_slice(const plan::BoundScanned& port, ir::NodeId node);
  /// Sets a scanned dynamic value to its slice of `step`. Precondition: the axis exists and has
  /// that slice.
  void set_slice(const plan::BoundScanned& port, std::int64_t step);

  /// Frees storage that this run has not written. Must not be called while a kernel is being
  /// prepared.
  void release_unwritten();
  /// Frees all storage.
  void release_all();
  /// Releases the owners of borrowed memory, when the run has ended.
  void return_borrowed();

 private:
  /// Makes `to` share the storage of `from`, or take it if `moved`; returns whether it could.
  bool share(const plan::Spot& from, const plan::Spot& to, bool moved);

  Values& values_;
  RunMemory& memory_;
  std::uint64_t run_ = 0;
};

}  // namespace scanloom::runtime
